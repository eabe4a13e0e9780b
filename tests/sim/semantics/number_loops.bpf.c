// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loops over numbers of every kind: of a length that is known or not, with and without side
 * ways, left early, nested, and with stores. What they compute decides slices, so a trace shows
 * their results, and how long they take.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define NR_VALUES 512

static u64 values[NR_VALUES];
static u64 nr_enqueued;

static __always_inline u64 known_rounds(u64 seed)
{
	u64 sum = seed;
	s32 i;

	for_range(i, 0, NR_VALUES)
		values[i & (NR_VALUES - 1)] += sum++;
	return sum;
}

static __always_inline u64 side_ways(u64 sum, u32 rounds)
{
	s32 i;

	for_range(i, 0, rounds) {
		if (sum & 1)
			sum = sum * 3 + values[i & (NR_VALUES - 1)];
		else if (i & 4)
			sum >>= 1;
	}
	return sum;
}

/* Its first number is apart from the others, as where compilers rotate a loop. */
static __noinline u64 left_early(u64 key)
{
	struct bpf_iter_num numbers;
	u64 found = NR_VALUES;
	s32 *next;

	bpf_iter_num_new(&numbers, 0, NR_VALUES);
	next = bpf_iter_num_next(&numbers);
	if (next) {
		do {
			s32 i = *next;

			if ((values[i & (NR_VALUES - 1)] & 63) == (key & 63)) {
				found = i;
				break;
			}
			next = bpf_iter_num_next(&numbers);
		} while (next);
	}
	bpf_iter_num_destroy(&numbers);
	return found;
}

static __always_inline u64 nested(u64 sum, u32 rounds)
{
	s32 row, column;

	for_range(row, 0, rounds) {
		for_range(column, row, rounds * 20)
			sum += values[column & (NR_VALUES - 1)] ^ row;
	}
	return sum;
}

CALLBACK(void, loops_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 turn = __sync_fetch_and_add(&nr_enqueued, 1), sum = p->pid + turn;

	switch (turn & 3) {
	case 0:
		sum = known_rounds(sum);
		break;
	case 1:
		sum = side_ways(sum, turn * 37 % 700);
		break;
	case 2:
		sum = left_early(sum);
		break;
	default:
		sum = nested(sum, turn % 40);
	}
	insert(p, SHARED_DSQ, 1000000 + (sum & 0xffff), enq_flags);
}

CALLBACK(void, loops_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, loops_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

SCHEDULER(loops_ops,
	  .enqueue = (void *)loops_enqueue,
	  .dispatch = (void *)loops_dispatch,
	  .init = (void *)loops_init,
	  .name = "number_loops");
