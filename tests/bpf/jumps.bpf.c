// SPDX-License-Identifier: GPL-2.0-only
/* Every condition, on 64 bits and on the lower 32. Each answer is a bit for one pair of operands. */
#include "case.h"

/* Whether the condition holds for these operands. */
#define HOLDS(condition, a, b)                                                                     \
	({                                                                                         \
		u64 ___x = HIDE(a), ___y = HIDE(b), ___yes;                                        \
		asm volatile("r1 = %[x]; r2 = %[y]; %[yes] = 1; if " condition " goto +1; %[yes] = 0" \
			     : [yes] "=&r"(___yes)                                                 \
			     : [x] "r"(___x), [y] "r"(___y)                                        \
			     : "r1", "r2");                                                        \
		___yes;                                                                            \
	})

/* For less, equal, greater; both signs; and a difference only in the upper half. */
#define ANSWERS(condition)                                                                         \
	(HOLDS(condition, 1, 2) << 0 | HOLDS(condition, 2, 2) << 1 | HOLDS(condition, 3, 2) << 2 | \
	 HOLDS(condition, -1, 2) << 3 | HOLDS(condition, 2, -1) << 4 |                             \
	 HOLDS(condition, 1ULL << 32 | 2, 2) << 5 | HOLDS(condition, 2, 1ULL << 32 | 2) << 6)

STEPS(on_64_bits, 0x02, 0x7d, 0x2c, 0x2e, 0x51, 0x53)
{
	got[0] = ANSWERS("r1 == r2");
	got[1] = ANSWERS("r1 != r2");
	got[2] = ANSWERS("r1 > r2");
	got[3] = ANSWERS("r1 >= r2");
	got[4] = ANSWERS("r1 < r2");
	got[5] = ANSWERS("r1 <= r2");
}

STEPS(signed_on_64_bits, 0x34, 0x36, 0x49, 0x4b)
{
	got[0] = ANSWERS("r1 s> r2");
	got[1] = ANSWERS("r1 s>= r2");
	got[2] = ANSWERS("r1 s< r2");
	got[3] = ANSWERS("r1 s<= r2");
}

STEPS(on_32_bits, 0x62, 0x1d, 0x0c, 0x6e, 0x11, 0x73)
{
	got[0] = ANSWERS("w1 == w2");
	got[1] = ANSWERS("w1 != w2");
	got[2] = ANSWERS("w1 > w2");
	got[3] = ANSWERS("w1 >= w2");
	got[4] = ANSWERS("w1 < w2");
	got[5] = ANSWERS("w1 <= w2");
}

STEPS(signed_on_32_bits, 0x14, 0x76, 0x09, 0x6b)
{
	got[0] = ANSWERS("w1 s> w2");
	got[1] = ANSWERS("w1 s>= w2");
	got[2] = ANSWERS("w1 s< w2");
	got[3] = ANSWERS("w1 s<= w2");
}

/* Constants are sign-extended to 64 bits. */
STEPS(against_constants, 1, 0, 1, 1, 0, 1)
{
	got[0] = HOLDS("r1 == -1", -1, 0);
	got[1] = HOLDS("r1 == -1", 0xffffffff, 0);
	got[2] = HOLDS("w1 == -1", 0xffffffff, 0);
	got[3] = HOLDS("r1 s< -1", -2, 0);
	got[4] = HOLDS("r1 > -1", -1, 0);
	got[5] = HOLDS("r1 < -1", 5, 0);
}

/* Each condition against 2, for the first operands of the answers above. */
#define CONSTANT(reg, condition)                                                                   \
	(HOLDS(reg " " condition " 2", 1, 0) << 0 | HOLDS(reg " " condition " 2", 2, 0) << 1 |     \
	 HOLDS(reg " " condition " 2", 3, 0) << 2 | HOLDS(reg " " condition " 2", -1, 0) << 3 |    \
	 HOLDS(reg " " condition " 2", 1ULL << 32 | 2, 0) << 4)

STEPS(against_2_on_64_bits, 0x02, 0x1d, 0x1c, 0x1e, 0x01, 0x03, 0x14, 0x16, 0x09, 0x0b)
{
	got[0] = CONSTANT("r1", "==");
	got[1] = CONSTANT("r1", "!=");
	got[2] = CONSTANT("r1", ">");
	got[3] = CONSTANT("r1", ">=");
	got[4] = CONSTANT("r1", "<");
	got[5] = CONSTANT("r1", "<=");
	got[6] = CONSTANT("r1", "s>");
	got[7] = CONSTANT("r1", "s>=");
	got[8] = CONSTANT("r1", "s<");
	got[9] = CONSTANT("r1", "s<=");
}

STEPS(against_2_on_32_bits, 0x12, 0x0d, 0x0c, 0x1e, 0x01, 0x13, 0x04, 0x16, 0x09, 0x1b)
{
	got[0] = CONSTANT("w1", "==");
	got[1] = CONSTANT("w1", "!=");
	got[2] = CONSTANT("w1", ">");
	got[3] = CONSTANT("w1", ">=");
	got[4] = CONSTANT("w1", "<");
	got[5] = CONSTANT("w1", "<=");
	got[6] = CONSTANT("w1", "s>");
	got[7] = CONSTANT("w1", "s>=");
	got[8] = CONSTANT("w1", "s<");
	got[9] = CONSTANT("w1", "s<=");
}

/* jset: whether any bit is common. */
STEPS(common_bits, 1, 0, 1, 0, 1, 0, 1, 0)
{
	got[0] = HOLDS("r1 & r2", 6, 3);
	got[1] = HOLDS("r1 & r2", 5, 2);
	got[2] = HOLDS("r1 & r2", 1ULL << 40, 1ULL << 40);
	got[3] = HOLDS("w1 & w2", 1ULL << 40, 1ULL << 40);
	got[4] = HOLDS("r1 & 8", 24, 0);
	got[5] = HOLDS("r1 & 8", 7, 0);
	got[6] = HOLDS("r1 & -2147483648", 1ULL << 40, 0);
	got[7] = HOLDS("w1 & -2147483648", 1ULL << 40, 0);
}

/* gotol: a jump with a 32-bit distance. */
CASE(far_jump, 3)
{
	u64 number = HIDE(1);

	asm volatile("if %[number] == 0 goto l_add_%=; gotol l_over_%=; l_add_%=: %[number] += 100;"
		     "l_over_%=: %[number] += 2"
		     : [number] "+r"(number));
	return number;
}

/* Backwards, while a number is left. */
CASE(backward_jump, 55)
{
	u64 sum = 0, left = HIDE(10);

	asm volatile("l_again_%=: %[sum] += %[left]; %[left] += -1; if %[left] s> 0 goto l_more_%=;"
		     "goto l_out_%=; l_more_%=: if %[left] s> 10 goto l_out_%=; gotol l_again_%=; l_out_%=:"
		     : [sum] "+r"(sum), [left] "+r"(left));
	return sum;
}

/* A jump table made by the compiler. */
STEPS(switches, 11, 17, 5, 0)
{
	for (int i = 0; i < 4; i++) {
		switch (HIDE(i)) {
		case 0: got[i] = 11; break;
		case 1: got[i] = 17; break;
		case 2: got[i] = 5; break;
		default: got[i] = 0;
		}
	}
}
