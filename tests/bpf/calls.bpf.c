// SPDX-License-Identifier: GPL-2.0-only
/* Functions: static and global, their arguments, registers and stacks. */
#include "case.h"

static __noinline u64 five(u64 a, u64 b, u64 c, u64 d, u64 e)
{
	return a + b * 10 + c * 100 + d * 1000 + e * 10000;
}

CASE(five_arguments, 54321)
{
	return five(HIDE(1), HIDE(2), HIDE(3), HIDE(4), HIDE(5));
}

/* Verified on its own, for any arguments. */
__noinline int global(u32 a, s32 b)
{
	return a > 10 ? b : -b;
}

STEPS(a_global_function, -7, 7)
{
	got[0] = global(HIDE(11), HIDE(-7));
	got[1] = global(HIDE(1), HIDE(-7));
}

/* A value shorter than a register is truncated by the function that produces it. */
static __noinline u8 short_result(u64 a)
{
	return a;
}

static __noinline s32 signed_result(u64 a)
{
	return a;
}

STEPS(short_results, 0x34, -2)
{
	got[0] = short_result(HIDE(0x1234));
	got[1] = signed_result(HIDE(0xfffffffe));
}

/* R6 to R9 belong to the caller. */
static __noinline u64 spoils(u64 a)
{
	asm volatile("r6 = 1; r7 = 1; r8 = 1; r9 = 1" ::: "r6", "r7", "r8", "r9");
	return a + 1;
}

CASE(registers_that_survive, 6789 + 8)
{
	u64 answer;

	/* The result is in r6, the only register that is left. */
	asm volatile("r6 = 6000; r7 = 700; r8 = 80; r9 = 9; r1 = 7; call %[spoils];"
		     "r6 += r7; r6 += r8; r6 += r9; r6 += r0; %[answer] = r6"
		     : [answer] "=r"(answer)
		     : [spoils] "i"(spoils)
		     : "r0", "r1", "r2", "r3", "r4", "r5", "r7", "r8", "r9", "memory");
	return answer;
}

/* Each has its own frame, and may get an address in its caller's. */
static __noinline void fills(u64 *place, u64 with)
{
	volatile u64 own[4] = { 9, 9, 9, 9 };

	*place = with + own[3];
}

STEPS(frames, 14, 3)
{
	volatile u64 mine = 3;
	u64 lent = 1;

	fills(&lent, HIDE(5));
	got[0] = lent;
	got[1] = mine;
}

/* Together, the frames of a chain may have 512 bytes. */
static __noinline u64 deep(u32 start)
{
	volatile u64 own[50];

	for (int i = 0; i < 50; i++)
		own[i] = start + i;
	return own[0] + own[49];
}

CASE(a_large_frame, 249)
{
	return deep(HIDE(100));
}

/* At most eight frames: this program's and seven more. */
#define NEST(name, next) static __noinline u64 name(u64 a) { return next(a) * 2 + 1; }
static __noinline u64 last(u64 a)
{
	return a + HIDE(1);
}
NEST(sixth, last)
NEST(fifth, sixth)
NEST(fourth, fifth)
NEST(third, fourth)
NEST(second, third)
NEST(first, second)

CASE(eight_frames, 64 * 3 + 63)
{
	return first(HIDE(2));
}

struct both {
	u64 sum, product;
};

/* A global function may get memory, which may be absent. */
__noinline int with_memory(struct both *both, u64 a, u64 b)
{
	if (!both)
		return -1;
	both->sum = a + b;
	both->product = a * b;
	return 0;
}

STEPS(memory_for_a_global_function, 0, 9, 20, -1)
{
	struct both both = {};

	got[0] = with_memory(&both, HIDE(4), HIDE(5));
	got[1] = both.sum;
	got[2] = both.product;
	got[3] = with_memory(NULL, 0, 0);
}

/* Each call has its own callback. */
static long twice(u64 index, void *data)
{
	*(u64 *)data += 2;
	return 0;
}

static long thrice(u64 index, void *data)
{
	*(u64 *)data += 3;
	return 0;
}

STEPS(callbacks, 8, 12)
{
	u64 sum = 0;

	bpf_loop(HIDE(4), twice, &sum, 0);
	got[0] = sum;
	sum = 0;
	bpf_loop(HIDE(4), thrice, &sum, 0);
	got[1] = sum;
}
