// SPDX-License-Identifier: GPL-2.0-only
/* Division by zero gives 0, and the remainder is the dividend. Signed division rounds to zero and never traps. */
#include "case.h"

#define LEAST64 (1ULL << 63)
#define LEAST32 (1ULL << 31)

STEPS(unsigned_64, 3, 2, 0, 17, 0x7fffffffffffffff)
{
	got[0] = OP64("%0 /= %1", 17, 5);
	got[1] = OP64("%0 %%= %1", 17, 5);
	got[2] = OP64("%0 /= %1", 17, 0);
	got[3] = OP64("%0 %%= %1", 17, 0);
	got[4] = OP64("%0 /= %1", -1, 2);
}

STEPS(unsigned_32, 3, 2, 0, 17, 0x7fffffff, 0, 0x80000001)
{
	got[0] = OP32("w1 /= w2", 17, 5);
	got[1] = OP32("w1 %%= w2", 17, 5);
	got[2] = OP32("w1 /= w2", 17, 0);
	/* The dividend's upper half is lost though nothing is divided. */
	got[3] = OP32("w1 %%= w2", 5ULL << 32 | 17, 0);
	got[4] = OP32("w1 /= w2", -1, 2);
	got[5] = OP32("w1 /= w2", LEAST32, -1);
	got[6] = OP32("w1 %%= w2", LEAST32 | 1, -1);
}

STEPS(signed_64, -3, -3, 3, -2, 2, -2)
{
	got[0] = OP64("%0 s/= %1", -17, 5);
	got[1] = OP64("%0 s/= %1", 17, -5);
	got[2] = OP64("%0 s/= %1", -17, -5);
	got[3] = OP64("%0 s%%= %1", -17, 5);
	got[4] = OP64("%0 s%%= %1", 17, -5);
	got[5] = OP64("%0 s%%= %1", -17, -5);
}

STEPS(signed_64_that_would_trap, 0, -17, (s64)LEAST64, 0, -17, 0)
{
	got[0] = OP64("%0 s/= %1", -17, 0);
	got[1] = OP64("%0 s%%= %1", -17, 0);
	got[2] = OP64("%0 s/= %1", LEAST64, -1);
	got[3] = OP64("%0 s%%= %1", LEAST64, -1);
	got[4] = OP64("%0 s/= %1", 17, -1);
	got[5] = OP64("%0 s%%= %1", 17, -1);
}

STEPS(signed_32, 0xfffffffd, 0xfffffffd, 0xfffffffe, 2)
{
	got[0] = OP32("w1 s/= w2", -17, 5);
	got[1] = OP32("w1 s/= w2", 17, -5);
	got[2] = OP32("w1 s%%= w2", -17, 5);
	got[3] = OP32("w1 s%%= w2", 17, -5);
}

STEPS(signed_32_that_would_trap, 0, 0xffffffef, LEAST32, 0)
{
	got[0] = OP32("w1 s/= w2", -17, 0);
	got[1] = OP32("w1 s%%= w2", -17, 0);
	got[2] = OP32("w1 s/= w2", LEAST32, -1);
	got[3] = OP32("w1 s%%= w2", LEAST32, -1);
}

STEPS(by_constants, -3, -2, 3, 2, 0xfffffffd, 0xfffffffe, (s64)LEAST64, 0, 3, 2, 0)
{
	got[0] = OP64("%0 s/= 5", -17, 0);
	got[1] = OP64("%0 s%%= 5", -17, 0);
	got[2] = OP64("%0 /= 5", 17, 0);
	got[3] = OP64("%0 %%= 5", 17, 0);
	got[4] = OP32("w1 s/= 5", -17, 0);
	got[5] = OP32("w1 s%%= 5", -17, 0);
	got[6] = OP64("%0 s/= -1", LEAST64, 0);
	got[7] = OP64("%0 s%%= -1", LEAST64, 0);
	got[8] = OP32("w1 /= 5", 7ULL << 32 | 17, 0);
	got[9] = OP32("w1 %%= 5", 7ULL << 32 | 17, 0);
	/* The constant is 0xffffffff. */
	got[10] = OP32("w1 /= -1", 17, 0);
}
