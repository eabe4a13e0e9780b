/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * goodness, first: what it keeps for each task and each CPU, and the list
 * for all CPUs. `mq`, which is a modification of goodness, uses the same.
 */
#ifndef GOODNESS_TYPES_H
#define GOODNESS_TYPES_H

#include "hints.h"

/* How a task leaves its CPU, if not asleep. */
enum leaving {
	OUTWEIGHED,
	TURN_OVER,
	YIELDING,
};

/*
 * What a decision needs to know about a task: one cache line. All that a list
 * walk reads is in its first 32 bytes, as in 2.4, where that was a whole line.
 */
struct slot {
	/* The next one in the list; NOBODY at its end. */
	u32 next;
	/* Ticks left. */
	s32 counter;
	/* Whose memory it uses; 0 for a kernel thread. */
	u64 mm;
	struct hint rt;
	/* The CPU that it last ran on. */
	u16 cpu;
	s8 nice;
	/* It may use all CPUs. */
	bool everywhere;
	/* It has yielded, and weighs YIELDING_WEIGHT until the CPU has chosen. */
	bool weightless;
	/* The CPU that it runs on, plus 1; it stays in its list, but no other CPU may take it. */
	u16 runs_on;

	/* The previous one in the list; NOBODY at its beginning. */
	u32 prev __attribute__((aligned(32)));
	s32 pid;
	/* enum leaving. */
	u8 leaving;
	bool linked;
	/* The CPUs that it may use went offline while it waited. */
	bool homeless;
	/* Under mq, the CPU whose list it is in, plus 1; 0 is the list for all CPUs. */
	u16 queue;
} __attribute__((aligned(64)));

#include "handover.h"
#include "lists.h"

#define TICK_NS (10 * MSEC_NS)
#define PROC_CHANGE_PENALTY 15
#define MAX_COUNTER 20
#define REALTIME_WEIGHT 1000
/*
 * The weight of a task that yields: less than one whose counter is used up, more than no
 * task. It continues only if no other task may run, and never causes a recalculation.
 */
#define YIELDING_WEIGHT -1
/* Less than any weight: no task. */
#define NO_WEIGHT (-1000)

/* What every CPU's line contains: schedule_data. */
struct cpu {
	/* The running task; NOBODY if the CPU is idle. */
	u32 curr;
	bool offline;
	/* Whose memory is mapped; an idle CPU keeps it. */
	u64 mm;
	u64 idle_since;
	/* Under mq, the tasks that wait for this CPU. */
	struct list runqueue;
	/* The last 10 ms interval for which a tick was counted. */
	u64 tick;
} LINE;

static struct cpu cpus[MAX_CPUS] LINE;

/* How often each CPU recalculated all counters. */
COUNTER(recalculations);

/* runqueue_lock, and what it protects: the list for all CPUs, and how many tasks are in any list. */
static LOCK(runqueue_lock);
/* `used` keeps the compiler from making a variable of each member, whose names (runqueue.0) kernels refuse. */
static __attribute__((used)) struct {
	struct list list;
	u32 nr_running;
} runqueue LINE;

static __always_inline struct cpu *cpu_at(u32 cpu)
{
	return &cpus[cpu & (MAX_CPUS - 1)];
}

static __always_inline bool is_offline(u32 cpu)
{
	return cpu_at(cpu)->offline;
}

#include "kick.h"

#endif
