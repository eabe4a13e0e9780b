// SPDX-License-Identifier: GPL-2.0-only
/* Loads and stores of every size, with and without sign extension, on the stack and in global data. */
#include "case.h"

static volatile u64 bytes[2];
static char rows[3][8] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
static const u32 squares[] = { 0, 1, 4, 9, 16 };

#define AT(offset, text)                                                                           \
	({                                                                                         \
		u64 ___value;                                                                      \
		asm volatile("%0 = *(" text " *)(%1 + " #offset ")" : "=r"(___value) : "r"(bytes) : "memory"); \
		___value;                                                                          \
	})

STEPS(loads, 0x88, 0x7788, 0x55667788, 0x1122334455667788, 0x66, 0x3344)
{
	bytes[0] = 0x1122334455667788;
	got[0] = AT(0, "u8");
	got[1] = AT(0, "u16");
	got[2] = AT(0, "u32");
	got[3] = AT(0, "u64");
	got[4] = AT(2, "u8");
	got[5] = AT(4, "u16");
}

STEPS(sign_extending_loads, -120, -30584, -2004318072, 0x11, 0x1122, 0x11223344)
{
	bytes[0] = 0x1122334488888888;
	got[0] = AT(0, "s8");
	got[1] = AT(0, "s16");
	got[2] = AT(0, "s32");
	got[3] = AT(7, "s8");
	got[4] = AT(6, "s16");
	got[5] = AT(4, "s32");
}

#define STORED(text)                                                                               \
	({                                                                                         \
		u64 ___value = HIDE(0x1122334455667788);                                           \
		bytes[0] = -1;                                                                     \
		asm volatile(text : : [at] "r"(bytes), [value] "r"(___value) : "r2", "memory");    \
		bytes[0];                                                                          \
	})

STEPS(stores, 0xffffffffffffff88, 0xffffffffffff7788, 0xffffffff55667788, 0x1122334455667788,
      0xffffff88ffffffff)
{
	got[0] = STORED("r2 = %[value]; *(u8 *)(%[at] + 0) = w2");
	got[1] = STORED("r2 = %[value]; *(u16 *)(%[at] + 0) = w2");
	got[2] = STORED("r2 = %[value]; *(u32 *)(%[at] + 0) = w2");
	got[3] = STORED("*(u64 *)(%[at] + 0) = %[value]");
	got[4] = STORED("r2 = %[value]; *(u8 *)(%[at] + 4) = w2");
}

/* Constants are stored by their own instructions. In a negative one, all 64 bits are set. */
STEPS(stores_of_constants, 0xfffffffffffffffe, 0xffffffffffff0102, 0xffffffff00000007, -2)
{
	got[0] = STORED("*(u8 *)(%[at] + 0) = -2");
	got[1] = STORED("*(u16 *)(%[at] + 0) = 258");
	got[2] = STORED("*(u32 *)(%[at] + 0) = 7");
	got[3] = STORED("*(u64 *)(%[at] + 0) = -2");
}

STEPS(the_stack, 36, 0x0807060504030201)
{
	char own[8];
	u64 sum = 0;

	for (int i = 0; i < 8; i++) {
		own[i] = HIDE(i + 1);
		barrier_var(sum);
		sum += own[i];
	}
	got[0] = sum;
	got[1] = *(u64 *)own;
}

CASE(an_index_that_is_not_known, 8 + 16)
{
	u32 row = HIDE(2), column = HIDE(1), number = HIDE(4);

	if (row >= 3 || column >= 3 || number >= 5)
		return 0;
	return rows[row][column] + squares[number];
}

struct odd {
	u8 byte;
	u32 word;
	u16 half;
} __attribute__((packed));

static struct odd odd = { 1, 2, 3 };

STEPS(fields_without_padding, 0x01020304, 1, 3, 7)
{
	volatile struct odd *at = &odd;

	at->word = HIDE(0x01020304);
	got[0] = at->word;
	got[1] = at->byte;
	got[2] = at->half;
	got[3] = sizeof(odd);
}

struct bits {
	unsigned low : 3;
	int sign : 5;
	unsigned long long wide : 40;
};

static struct bits fields;

STEPS(bit_fields, 7, -16, 0xffffffffff, 0)
{
	fields.low = HIDE(15);
	fields.sign = HIDE(-16);
	fields.wide = HIDE(-1);
	barrier();
	got[0] = fields.low;
	got[1] = fields.sign;
	got[2] = fields.wide;
	fields.wide++;
	got[3] = fields.wide;
}

struct block {
	u64 words[8];
};
static struct block from = { { 1, 2, 3, 4, 5, 6, 7, 8 } }, to;

STEPS(copies_of_structs, 8, 3, 0)
{
	to = from;
	barrier();
	got[0] = to.words[7];
	got[1] = to.words[2];
	__builtin_memset(&to, 0, sizeof(to));
	barrier();
	got[2] = to.words[7];
}
