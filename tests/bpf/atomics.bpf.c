// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic operations on 64 and 32 bits, with and without the old value. Each is on 0x700000006 (6 in 32 bits)
 * and 3, unless stated otherwise.
 */
#include "case.h"

static u64 word;

/* Executes it and returns the memory's contents afterwards. */
#define AFTER(text)                                                                                \
	({                                                                                         \
		u64 ___by = HIDE(3);                                                               \
		word = 0x700000006;                                                                \
		barrier();                                                                         \
		asm volatile(text : : [at] "r"(&word), [by] "r"(___by) : "memory");                \
		*(volatile u64 *)&word;                                                            \
	})

#define AFTER32(text)                                                                              \
	({                                                                                         \
		u32 ___by = HIDE(3);                                                               \
		word = 0x700000006;                                                                \
		barrier();                                                                         \
		asm volatile(text : : [at] "r"(&word), [by] "w"(___by) : "memory");                \
		*(volatile u64 *)&word;                                                            \
	})

/* Executes it and returns the operand's register afterwards. */
#define OLD(text)                                                                                  \
	({                                                                                         \
		u64 ___by = HIDE(0x900000003);                                                     \
		word = 0x700000006;                                                                \
		barrier();                                                                         \
		asm volatile(text : [by] "+r"(___by) : [at] "r"(&word) : "r2", "memory");          \
		___by;                                                                             \
	})

STEPS(on_64_bits, 0x700000009, 0x700000007, 2, 0x700000005)
{
	got[0] = AFTER("lock *(u64 *)(%[at] + 0) += %[by]");
	got[1] = AFTER("lock *(u64 *)(%[at] + 0) |= %[by]");
	got[2] = AFTER("lock *(u64 *)(%[at] + 0) &= %[by]");
	got[3] = AFTER("lock *(u64 *)(%[at] + 0) ^= %[by]");
}

STEPS(on_32_bits, 0x700000009, 0x700000007, 0x700000002, 0x700000005)
{
	got[0] = AFTER32("lock *(u32 *)(%[at] + 0) += %[by]");
	got[1] = AFTER32("lock *(u32 *)(%[at] + 0) |= %[by]");
	got[2] = AFTER32("lock *(u32 *)(%[at] + 0) &= %[by]");
	got[3] = AFTER32("lock *(u32 *)(%[at] + 0) ^= %[by]");
}

STEPS(old_values_of_64_bits, 0x700000006, 0x1000000009, 0x700000006, 0xf00000007, 0x700000006, 0x100000002,
      0x700000006, 0xe00000005)
{
	got[0] = OLD("%[by] = atomic_fetch_add((u64 *)(%[at] + 0), %[by])");
	got[1] = *(volatile u64 *)&word;
	got[2] = OLD("%[by] = atomic_fetch_or((u64 *)(%[at] + 0), %[by])");
	got[3] = *(volatile u64 *)&word;
	got[4] = OLD("%[by] = atomic_fetch_and((u64 *)(%[at] + 0), %[by])");
	got[5] = *(volatile u64 *)&word;
	got[6] = OLD("%[by] = atomic_fetch_xor((u64 *)(%[at] + 0), %[by])");
	got[7] = *(volatile u64 *)&word;
}

/* The old value has a clear upper half. Adjacent memory is unchanged. */
STEPS(old_values_of_32_bits, 6, 0x700000009, 6, 0x700000007, 6, 0x700000002, 6, 0x700000005)
{
	got[0] = OLD("r2 = %[by]; w2 = atomic_fetch_add((u32 *)(%[at] + 0), w2); %[by] = r2");
	got[1] = *(volatile u64 *)&word;
	got[2] = OLD("r2 = %[by]; w2 = atomic_fetch_or((u32 *)(%[at] + 0), w2); %[by] = r2");
	got[3] = *(volatile u64 *)&word;
	got[4] = OLD("r2 = %[by]; w2 = atomic_fetch_and((u32 *)(%[at] + 0), w2); %[by] = r2");
	got[5] = *(volatile u64 *)&word;
	got[6] = OLD("r2 = %[by]; w2 = atomic_fetch_xor((u32 *)(%[at] + 0), w2); %[by] = r2");
	got[7] = *(volatile u64 *)&word;
}

STEPS(exchanges, 0x700000006, 0x900000003, 6, 0x700000003)
{
	got[0] = OLD("%[by] = xchg_64(%[at] + 0, %[by])");
	got[1] = *(volatile u64 *)&word;
	got[2] = OLD("r2 = %[by]; w2 = xchg32_32(%[at] + 0, w2); %[by] = r2");
	got[3] = *(volatile u64 *)&word;
}

/* Compares R0 with memory. R0 gets the old value either way. */
#define COMPARE(text, compared)                                                                    \
	({                                                                                         \
		u64 ___expected = HIDE(compared), ___by = HIDE(0x900000003), ___old;               \
		word = 0x700000006;                                                                \
		barrier();                                                                         \
		asm volatile("r0 = %[expected];" text "; %[old] = r0"                              \
			     : [old] "=r"(___old)                                                  \
			     : [at] "r"(&word), [by] "r"(___by), [expected] "r"(___expected)       \
			     : "r0", "r2", "memory");                                                    \
		___old;                                                                            \
	})

STEPS(compares_64_bits, 0x700000006, 0x900000003, 0x700000006, 0x700000006)
{
	got[0] = COMPARE("r0 = cmpxchg_64(%[at] + 0, r0, %[by])", 0x700000006);
	got[1] = *(volatile u64 *)&word;
	got[2] = COMPARE("r0 = cmpxchg_64(%[at] + 0, r0, %[by])", 6);
	got[3] = *(volatile u64 *)&word;
}

/* The upper half of R0 is ignored, and clear afterwards whatever the result. */
STEPS(compares_32_bits, 6, 0x700000003, 6, 0x700000006, 6, 0x700000003)
{
	got[0] = COMPARE("r2 = %[by]; w0 = cmpxchg32_32(%[at] + 0, w0, w2)", 6);
	got[1] = *(volatile u64 *)&word;
	got[2] = COMPARE("r2 = %[by]; w0 = cmpxchg32_32(%[at] + 0, w0, w2)", 0x700000005);
	got[3] = *(volatile u64 *)&word;
	got[4] = COMPARE("r2 = %[by]; w0 = cmpxchg32_32(%[at] + 0, w0, w2)", 0x100000006);
	got[5] = *(volatile u64 *)&word;
}

/* The compiler's code for its builtins. */
static u32 count = 5;
static u64 total = 5;

STEPS(builtins, 5, 8, 8, 4, 4, 1, 0, 9)
{
	got[0] = __sync_fetch_and_add(&count, HIDE(3));
	got[1] = *(volatile u32 *)&count;
	got[2] = __sync_lock_test_and_set(&count, 4);
	got[3] = *(volatile u32 *)&count;
	got[4] = __sync_val_compare_and_swap(&count, 4, 6);
	got[5] = __sync_bool_compare_and_swap(&total, 5, 9);
	got[6] = __sync_bool_compare_and_swap(&total, 5, 1);
	got[7] = total;
}

/* Load-acquire and store-release, for which clang 19 has no syntax: r1 is the address, r2 the value. */
#define ORDERED(size, kind)                                                                        \
	".byte " #size "; .byte " kind "; .short 0; .long "
#define RELEASE(size, stored)                                                                       \
	({                                                                                         \
		u64 ___value = HIDE(stored);                                                       \
		word = -1;                                                                         \
		barrier();                                                                         \
		asm volatile("r1 = %[at]; r2 = %[value];" ORDERED(size, "0x21") "0x110"            \
			     : : [at] "r"(&word), [value] "r"(___value) : "r1", "r2", "memory");   \
		*(volatile u64 *)&word;                                                            \
	})
#define ACQUIRE(size)                                                                              \
	({                                                                                         \
		u64 ___value;                                                                      \
		asm volatile("r1 = %[at];" ORDERED(size, "0x12") "0x100; %[value] = r2"            \
			     : [value] "=r"(___value) : [at] "r"(&word) : "r1", "r2", "memory");   \
		___value;                                                                          \
	})

STEPS(releases, 0x1122334455667788, 0xffffffff55667788, 0xffffffffffff7788, 0xffffffffffffff88)
{
	got[0] = RELEASE(0xdb, 0x1122334455667788);
	got[1] = RELEASE(0xc3, 0x1122334455667788);
	got[2] = RELEASE(0xcb, 0x1122334455667788);
	got[3] = RELEASE(0xd3, 0x1122334455667788);
}

STEPS(acquires, 0x1122334455667788, 0x55667788, 0x7788, 0x88)
{
	word = 0x1122334455667788;
	barrier();
	got[0] = ACQUIRE(0xdb);
	got[1] = ACQUIRE(0xc3);
	got[2] = ACQUIRE(0xcb);
	got[3] = ACQUIRE(0xd3);
}
