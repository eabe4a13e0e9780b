// SPDX-License-Identifier: GPL-2.0-only
/* Loops that the verifier need not unroll: bpf_loop(), number iterators, may_goto. */
#include "case.h"

struct progress {
	u64 sum, stop_at;
};

static long add_index(u64 index, void *data)
{
	struct progress *progress = data;

	progress->sum += index;
	return index == progress->stop_at;
}

STEPS(bpf_loop_counts, 5, 10, 3, 3, 0, 0)
{
	struct progress all = { 0, 100 }, some = { 0, 2 }, none = { 0, 0 };

	got[0] = bpf_loop(HIDE(5), add_index, &all, 0);
	got[1] = all.sum;
	got[2] = bpf_loop(HIDE(5), add_index, &some, 0);
	got[3] = some.sum;
	got[4] = bpf_loop(HIDE(0), add_index, &none, 0);
	got[5] = none.sum;
}

/* Verifiers replace the call with a loop. Its error has 32 bits, so it is not negative. */
STEPS(bpf_loop_refuses, -EINVAL, (u32)-E2BIG, 0)
{
	struct progress none = { 0, 100 };

	got[0] = bpf_loop(3, add_index, &none, HIDE(1));
	got[1] = bpf_loop(HIDE((8 << 20) + 1), add_index, &none, 0);
	got[2] = none.sum;
}

static long inner_loop(u64 index, void *data)
{
	return bpf_loop(index, add_index, data, 0) > 3;
}

STEPS(loops_in_loops, 5, 0 + 0 + 1 + 3 + 6)
{
	struct progress progress = { 0, 100 };

	got[0] = bpf_loop(HIDE(9), inner_loop, &progress, 0);
	got[1] = progress.sum;
}

static u64 rounds;

STEPS(numbers_from_to, 3 + 4 + 5, 0, -5)
{
	s32 number;

	got[0] = 0;
	for_range(number, HIDE(3), HIDE(6))
		got[0] += number;
	got[1] = 0;
	for_range(number, HIDE(6), HIDE(6))
		got[1]++;
	got[2] = 0;
	for_range(number, HIDE(-3), HIDE(2))
		got[2] += number;
}

STEPS(number_iterators_refuse, -EINVAL, 0, -E2BIG, 0, 0)
{
	struct bpf_iter_num it;

	got[0] = bpf_iter_num_new(&it, HIDE(6), HIDE(3));
	got[1] = !!bpf_iter_num_next(&it);
	bpf_iter_num_destroy(&it);
	got[2] = bpf_iter_num_new(&it, HIDE(0), HIDE((8 << 20) + 1));
	got[3] = !!bpf_iter_num_next(&it);
	bpf_iter_num_destroy(&it);
	got[4] = bpf_iter_num_new(&it, HIDE(-1), HIDE((8 << 20) - 1));
	bpf_iter_num_destroy(&it);
}

CASE(numbers_in_numbers, 0 + 1 + 2 + 10 + 11 + 12)
{
	s32 row, column;
	u64 sum = 0;

	for_range(row, 0, HIDE(2))
		for_range(column, 0, HIDE(3))
			sum += row * 10 + column;
	return sum;
}

/* The iterator may be left early. */
CASE(a_break, 4)
{
	s32 number;

	for_range(number, 0, HIDE(1000))
		if (number * number >= 16)
			return number;
	return -1;
}

#define MAY_GOTO_OUT(out) asm volatile goto("may_goto %l[" #out "]" :::: out)

CASE(may_goto_lets_pass, 4950)
{
	u64 i = 0, sum = 0, end = HIDE(100);

	for (;;) {
		MAY_GOTO_OUT(out);
		if (i >= end)
			break;
		sum += i++;
	}
out:
	return sum;
}

/* It ends an endless loop. After how long differs between kernels. */
CASE(may_goto_ends, 1)
{
	for (;;) {
		MAY_GOTO_OUT(out);
		rounds++;
	}
out:
	return rounds > 1000;
}
