/* SPDX-License-Identifier: GPL-2.0-only */
/* o1, first: its settings, what it keeps for each task and each CPU. */
#ifndef O1_TYPES_H
#define O1_TYPES_H

#include "hints.h"

/* Priority levels, 0 the best: as many as a word has bits. Nice -20 to 18 are 0 to 38 and a penalty; batch is last. */
#define LEVELS 64
#define BATCH_NICE 19
#define BATCH_LEVEL (LEVELS - 1)
/* MAX_PRIO/3; and the value under our rule. */
#define MAX_PENALTY (LEVELS / 3)
#define OUR_PENALTY 12

/* The ring of a task's load: the maximum number of entries. */
#define MAX_HISTORY 8

/* Settings: the announced rule for load (see load.h) instead of ours. */
const volatile bool announced_load = false;
/* The load history: the number of entries, and the length of each. */
const volatile u32 history_entries = 4;
const volatile u64 history_interval_ns = 1000000000;
/* By our rule, a task with at most this penalty returns to the active array, unless expired tasks have waited this long each. */
const volatile u32 interactive_penalty = 3;
const volatile u64 starvation_ns = 100000000;
/* The first timeslice of a task whose parent has no slot: nothing is known of it. */
const volatile u64 first_slice_ns = 10000000;
/* A batch task's slice if only batch tasks wait. */
const volatile u64 batch_slice_ns = 400000000;
/* How often a busy CPU looks for an idle one to take waiting tasks, and for a busier one to take tasks from. */
const volatile u64 idle_balance_ns = 10000000;
const volatile u64 busy_balance_ns = 250000000;
/* Off-switches for experiments: all CPUs share one pair of arrays and one lock; no balancer; children run in plain order. */
const volatile bool global_queue = false;
/* And what the previous scheduler had: one lock for all runqueues; a choice looks at every waiting task of all of them. */
const volatile bool one_lock = false;
const volatile bool scan = false;
const volatile bool balance = true;
const volatile bool child_first = true;

/* Where a task waits: nowhere, in the real-time queue, or at a runqueue, whose number is added. */
#define NOWHERE 0
#define IN_REALTIME 1
#define IN_RUNQUEUE 2

struct slot {
	/* One cache line for what queues and decisions need. */
	u32 next;
	u32 prev;
	u32 where;
	s32 pid;
	/* What is left of its timeslice, and its running time at the last update. */
	s64 left_ns;
	u64 ran_ns;
	struct hint rt;
	s8 nice;
	u8 level;
	/* Which of the two arrays it came from, or belongs in once its timeslice has expired. */
	u8 array;
	/* Where exactly it waits, whatever has changed about it since; written only under its queue's lock. */
	u8 in_array;
	u8 in_level;
	bool expired;
	/* At equal levels the other task goes first; and it goes to the end of its list. */
	bool behind;
	bool goes_last;
	/* It may use all CPUs. */
	bool everywhere;
	/* It has not run yet. */
	bool is_new;
	/* Its remaining timeslice is still part of its parent's. */
	bool borrowed;

	/* One cache line for its load: since when it has been busy (0: it sleeps), and how much in each interval. */
	u64 busy_since;
	u64 born;
	u64 interval;
	/* In units of 1024 ns. */
	u32 busy_sum;
	u32 busy[MAX_HISTORY];
} __attribute__((aligned(64)));

#include "lists.h"

/* A priority array: a bit for each level that has tasks. */
struct array {
	u64 bitmap LINE;
	struct list lists[LEVELS] LINE;
};

struct runqueue {
	/* Changed under the runqueue's lock. */
	u32 active LINE;
	u32 nr_waiting;
#ifdef CROWD
	/* CPUs that wait for the lock to take a task from here. */
	u32 nr_thieves;
#endif
	u32 nr_batch;
	u64 expired_since;

	/* The CPU's own: who runs, and when it balances next. */
	u32 curr LINE;
	u32 curr_level;
	/* A real-time task's rank; 0 where none runs. */
	u32 curr_realtime;
	bool offline;
	u64 next_push;
	u64 next_pull;
	/* Since when tasks have waited here though the CPU runs nothing; 0 if that is not so. Others write it. */
	u64 stuck_since;

	struct array arrays[2];
} LINE;

#include "runqueues.h"

/* How often each CPU exchanged its two arrays. */
COUNTER(array_switches);

/* How many tasks were examined for choices, with `scan`. */
COUNTER(scanned);

/* Which CPU's arrays a CPU uses. */
static __always_inline u32 queue_of(u32 cpu)
{
	return global_queue ? 0 : cpu;
}

/* The lock of a runqueue. */
static __always_inline struct bpf_spin_lock *lock_at(u32 queue)
{
	return lock_of(one_lock ? 0 : queue);
}

#endif
