// SPDX-License-Identifier: GPL-2.0-only
/* Moves that extend the sign, and byte swaps. */
#include "case.h"

#define WORD 0x1122334455667788ULL

STEPS(sign_extending_moves_to_64_bits, -128, 127, -32768, 32767, -2147483648LL, 2147483647)
{
	got[0] = OP64("%0 = (s8)%1", 0, 0xab80);
	got[1] = OP64("%0 = (s8)%1", -1, 0xff7f);
	got[2] = OP64("%0 = (s16)%1", 0, 0xab8000);
	got[3] = OP64("%0 = (s16)%1", -1, 0xff7fff);
	got[4] = OP64("%0 = (s32)%1", 0, 0xab80000000);
	got[5] = OP64("%0 = (s32)%1", -1, 0xff7fffffff);
}

STEPS(sign_extending_moves_to_32_bits, 0xffffff80, 127, 0xffff8000, 32767)
{
	got[0] = OP32("w1 = (s8)w2", 0, 0xab80);
	got[1] = OP32("w1 = (s8)w2", -1, 0xff7f);
	got[2] = OP32("w1 = (s16)w2", 0, 0xab8000);
	got[3] = OP32("w1 = (s16)w2", -1, 0xff7fff);
}

STEPS(byte_swaps, 0x8877, 0x88776655, 0x8877665544332211)
{
	got[0] = OP64("%0 = bswap16 %0", WORD, 0);
	got[1] = OP64("%0 = bswap32 %0", WORD, 0);
	got[2] = OP64("%0 = bswap64 %0", WORD, 0);
}

/* x86 is little-endian: converting to that order only truncates. */
STEPS(byte_orders, 0x8877, 0x88776655, 0x8877665544332211, 0x7788, 0x55667788, 0x1122334455667788)
{
	got[0] = OP64("%0 = be16 %0", WORD, 0);
	got[1] = OP64("%0 = be32 %0", WORD, 0);
	got[2] = OP64("%0 = be64 %0", WORD, 0);
	got[3] = OP64("%0 = le16 %0", WORD, 0);
	got[4] = OP64("%0 = le32 %0", WORD, 0);
	got[5] = OP64("%0 = le64 %0", WORD, 0);
}

/* The compiler's code for casts, with this instruction set. */
STEPS(casts_in_c, -56, -2, 0xfffffffffffffffe, 200)
{
	got[0] = (s8)HIDE(200);
	got[1] = (s16)HIDE(65534);
	got[2] = (s32)HIDE(0xfffffffe);
	got[3] = (u8)HIDE(0xffc8);
}
