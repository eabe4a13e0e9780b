// SPDX-License-Identifier: GPL-2.0-only
/* Arithmetic wraps around. 32-bit operations clear the upper half of their register. */
#include "case.h"

STEPS(wraps_on_64_bits, 0, -1, 1, 0x8000000000000000)
{
	got[0] = OP64("%0 += %1", -1, 1);
	got[1] = OP64("%0 -= %1", 0, 1);
	got[2] = OP64("%0 *= %1", -1, -1);
	got[3] = OP64("%0 += %1", 0x7fffffffffffffff, 1);
}

STEPS(clears_the_upper_half, 0, 0xffffffff, 1, 0x80000000, 3, 5, 6, 2)
{
	got[0] = OP32("w1 += w2", -1, 1);
	got[1] = OP32("w1 -= w2", 7ULL << 32, 1);
	got[2] = OP32("w1 *= w2", -1, -1);
	got[3] = OP32("w1 += w2", 7ULL << 32 | 0x7fffffff, 1);
	got[4] = OP32("w1 |= w2", 7ULL << 32 | 1, 2);
	got[5] = OP32("w1 &= w2", 7ULL << 32 | 7, 5);
	got[6] = OP32("w1 ^= w2", 7ULL << 32 | 5, 3);
	got[7] = OP32("w1 = w2", -1, 2);
}

STEPS(logic_on_64_bits, 0x700000003, 0x500000000, 0x200000006)
{
	got[0] = OP64("%0 |= %1", 7ULL << 32 | 1, 2);
	got[1] = OP64("%0 &= %1", 7ULL << 32 | 1, 5ULL << 32 | 2);
	got[2] = OP64("%0 ^= %1", 7ULL << 32 | 5, 5ULL << 32 | 3);
}

/* On 64 bits an immediate is sign-extended, and on 32 bits nothing is. */
STEPS(immediates, -1, 4, 0xffffffff80000000, -1, 0xffffffff, 0xffffffff, 0xffffffffffffffff)
{
	got[0] = OP64("%0 += -1", 0, 0);
	got[1] = OP64("%0 &= -4", 7, 0);
	got[2] = OP64("%0 &= -2147483648", -1, 0);
	got[3] = OP64("%0 = -1", 0, 0);
	got[4] = OP32("w1 += -1", 0, 0);
	got[5] = OP32("w1 = -1", 0, 0);
	got[6] = OP64("%0 = 0xffffffffffffffff ll", 0, 0);
}

STEPS(constants, -3, 0xfffffffd, 0xfffffff7, 0x700000007, 0xfffffffffffffff8, 0xfffffff8, 21)
{
	got[0] = OP64("%0 -= 5", 2, 0);
	got[1] = OP32("w1 -= 5", 2, 0);
	got[2] = OP32("w1 |= -10", 7ULL << 32 | 1, 0);
	got[3] = OP64("%0 |= 3", 7ULL << 32 | 4, 0);
	got[4] = OP64("%0 ^= -1", 7, 0);
	got[5] = OP32("w1 ^= -1", 7ULL << 32 | 7, 0);
	got[6] = OP32("w1 *= 3", 7ULL << 32 | 7, 0);
}

STEPS(negation, -5, (s64)(1ULL << 63), 0xfffffffb, 0x80000000)
{
	got[0] = OP64("%0 = -%0", 5, 0);
	got[1] = OP64("%0 = -%0", 1ULL << 63, 0);
	got[2] = OP32("w1 = -w1", 5, 0);
	got[3] = OP32("w1 = -w1", 1ULL << 31, 0);
}

STEPS(shifts, 0x8000000000000000, 1, -1, 0x80000000, 1, 0xffffffff, 0x40000000)
{
	got[0] = OP64("%0 <<= %1", 1, 63);
	got[1] = OP64("%0 >>= %1", -1, 63);
	got[2] = OP64("%0 s>>= %1", 1ULL << 63, 63);
	got[3] = OP32("w1 <<= w2", 1, 31);
	got[4] = OP32("w1 >>= w2", -1, 31);
	got[5] = OP32("w1 s>>= w2", 1ULL << 31, 31);
	got[6] = OP32("w1 s>>= w2", 7ULL << 32 | 1ULL << 31 >> 1, 0);
}

/* A shift that is too far is taken modulo the width. */
STEPS(shifts_too_far, 2, 0x7fffffffffffffff, -1, 1, 2, 0x7fffffff, 0xffffffff, 1)
{
	got[0] = OP64("%0 <<= %1", 1, 65);
	got[1] = OP64("%0 >>= %1", -1, 65);
	got[2] = OP64("%0 s>>= %1", -2, 129);
	got[3] = OP64("%0 <<= %1", 1, 64);
	got[4] = OP32("w1 <<= w2", 1, 33);
	got[5] = OP32("w1 >>= w2", -1, 33);
	got[6] = OP32("w1 s>>= w2", -2, 65);
	got[7] = OP32("w1 <<= w2", 1, 32);
}

STEPS(shifts_by_constants, 1ULL << 40, 0xffffff, -1, 1ULL << 20, 0xfff, 0xffffffff)
{
	got[0] = OP64("%0 <<= 40", 1, 0);
	got[1] = OP64("%0 >>= 40", -1, 0);
	got[2] = OP64("%0 s>>= 40", -1, 0);
	got[3] = OP32("w1 <<= 20", 1, 0);
	got[4] = OP32("w1 >>= 20", -1, 0);
	got[5] = OP32("w1 s>>= 20", -1, 0);
}
