/* SPDX-License-Identifier: GPL-2.0-only */
/* ule, first: its settings, what it keeps for each task and each CPU. */
#ifndef ULE_TYPES_H
#define ULE_TYPES_H

#include "keel.h"

/* Priority levels, 0 the best: as many as a word has bits. */
#define LEVELS 64

/* Settings. As posted in January 2003: each of the fixes below off, and the numbers of that week's code. */
const volatile bool posted = false;
/* With `posted`: each granted slice halves the saved-up sleep (SCHED_SLP_DECAY). */
const volatile bool halve = true;
/* Priority from the ratio of sleeping to running, instead of from accumulated sleep. */
const volatile bool ratio = true;
/* A child goes to the least loaded CPU, not to the first one. */
const volatile bool place = true;
/* A CPU without work takes a task from another. */
const volatile bool steal = true;
/* Twice a second tasks move from the most loaded CPU to the least loaded one. */
const volatile bool push = true;
/* A round ends in bounded time, whatever keeps the current queue busy. */
const volatile bool patience = true;
/* How much sleeping and running is remembered; and of that, how much a child inherits by the ratio. */
const volatile u64 window_ns = 5000000000;
const volatile u64 inherited_ns = 100000000;
/* Slices of nice 19, which are also those of interactive and idle tasks, and of nice -20. */
const volatile u64 least_slice_ns = 10000000;
const volatile u64 greatest_slice_ns = 100000000;
/* How long a round may take per non-interactive task, before interactive ones, too, wait for its end. */
const volatile u64 patience_ns = 100000000;
/* How often tasks are pushed. */
const volatile u64 push_ns = 500000000;
/* How often idle tasks get a slice together though others want the CPU: the kernel ends a scheduler that lets one wait for 30 s. */
const volatile u64 idle_ns = 5000000000;
/* Tasks from this nice value on count as idle ones, as SCHED_IDLE tasks do; 20: no others. */
const volatile s32 idle_nice = 20;

/* Where a task waits: nowhere, or at a runqueue, whose number is added. */
#define NOWHERE 0
#define IN_RUNQUEUE 1

/* A runqueue's queues: two that take turns as the current and the next one, and one for idle tasks. */
#define IDLE_QUEUE 2
#define QUEUES 3

/* An idle task's level while it runs: worse than any. */
#define IDLE_LEVEL LEVELS

struct slot {
	u32 next;
	u32 prev;
	u32 where;
	s32 pid;
	/* What is left of its slice, and its running time at the last update. */
	s64 left_ns;
	u64 ran_ns;
	/* When it fell asleep; 0 while it is awake. */
	u64 asleep_since;
	/* Its history, in units of 1024 ns. Without the ratio, `slept` is its sleep minus its running. */
	u32 slept;
	u32 ran;
	s8 nice;
	u8 level;
	/* The queue that it belongs in, or came from. */
	u8 queue;
	bool interactive;
	bool is_idle;
	/* Its slice is used up: at equal levels the other task goes first, and it goes to the end of its list. */
	bool is_over;
	/* It may use all CPUs. */
	bool everywhere;
	/* It has not been queued yet. */
	bool is_new;
	/* As posted: it fell asleep with little saved-up sleep, and returns to its previous queue when it wakes. */
	bool keeps_queue;
	/* Where exactly it waits, whatever has changed about it since; written only under the runqueue's lock. */
	u8 in_queue;
	u8 in_level;
	bool as_hog;
} __attribute__((aligned(64)));

#include "lists.h"

/* A list for each level, and a bit for each level that has tasks. */
struct queue {
	u64 levels LINE;
	struct list lists[LEVELS] LINE;
};

struct runqueue {
	/* Changed under the runqueue's lock. */
	u32 current LINE;
	u32 nr_waiting;
	/* Of these, the ones that are not interactive, and the idle ones. */
	u32 nr_hogs;
	u32 nr_idle;
	/* When current and next were last exchanged, or the first task came to wait; when idle tasks get their slice. */
	u64 round_since;
	u64 idle_due;

	/* The CPU's own: the running task, and when it next checks on other CPUs. */
	u32 curr LINE;
	u32 curr_level;
	bool offline;
	u64 next_look;
	/* Since when tasks have waited here though the CPU runs nothing; 0 if that is not so. Others write it. */
	u64 stuck_since;

	struct queue queues[QUEUES];
} LINE;

#include "runqueues.h"

/* When the next push is due, on whichever CPU notices first. */
static u64 next_push LINE;

/* How often each CPU exchanged its two queues. */
COUNTER(queue_switches);

/* A CPU's load: its runnable tasks. */
static __always_inline u32 load_of(u32 cpu)
{
	struct runqueue *rq = runqueue_at(cpu);

	return rq->nr_waiting + (rq->curr != NOBODY);
}

#endif
