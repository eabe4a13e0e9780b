/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * goodness, first: what it keeps of a task and of a CPU, and the list for all CPUs. `mq`, which is a change of
 * goodness, keeps the same.
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
 * What a decision needs of a task: one cache line. All that a walk over the list reads is in its first 32
 * bytes, as 2.4 had it: a whole line there.
 */
struct slot {
	/* The list: the next one; NOBODY at its end. */
	u32 next;
	/* Ticks left. */
	s32 counter;
	/* Whose memory it uses; 0 for a kernel thread. */
	u64 mm;
	struct hint rt;
	/* The CPU it ran on last. */
	u16 cpu;
	s8 nice;
	/* It may use all CPUs. */
	bool everywhere;
	/* It has yielded, and weighs YIELDING_WEIGHT until the CPU has chosen. */
	bool weightless;
	/* It has a CPU: the one before this number; it stays in its list, but no other CPU may take it. */
	u16 runs_on;

	/* The one before in the list; NOBODY at its beginning. */
	u32 prev __attribute__((aligned(32)));
	s32 pid;
	/* enum leaving. */
	u8 leaving;
	bool linked;
	/* The CPUs that it may use went offline while it waited. */
	bool homeless;
	/* Whose list it is in, under mq: of the CPU before this number; 0 is the list for all CPUs. */
	u16 queue;
} __attribute__((aligned(64)));

#include "handover.h"
#include "lists.h"

#define TICK_NS (10 * MSEC_NS)
#define PROC_CHANGE_PENALTY 15
#define MAX_COUNTER 20
#define REALTIME_WEIGHT 1000
/*
 * What a task weighs that yields: less than one whose counter is used up, more than nobody. It goes on where nobody else
 * may run, and never causes a recalculation.
 */
#define YIELDING_WEIGHT -1
/* Less than any weight: nobody. */
#define NO_WEIGHT (-1000)

/* What every CPU's line holds: schedule_data. */
struct cpu {
	/* Who runs here; NOBODY where it idles. */
	u32 curr;
	bool offline;
	/* Whose memory is loaded; an idle CPU keeps it. */
	u64 mm;
	u64 idle_since;
	/* Who waits for this CPU, under mq. */
	struct list runqueue;
	/* The last 10 ms that a tick was counted for. */
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
