/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layout of a policy event: what a scheduler considered in one decision. policy.h fills them in for a scheduler, and
 * the recorder for Linux's own (crates/live/bpf/decisions.h). Include it after the types u16 to u64 and s32.
 */
#ifndef KEEL_POLICY_EVENT_H
#define KEEL_POLICY_EVENT_H

/* The maximum number of groups in an event; of further ones it has only the number. */
#define POLICY_GROUPS 16
/* CPUs that an event can name, 64 a word. */
#define POLICY_WORDS 16
#define POLICY_CPUS (POLICY_WORDS * 64)

/* What was decided. */
enum policy_kind {
	/* A periodic balancing. */
	POLICY_BALANCE = 1,
	/* One by a CPU that is about to idle. */
	POLICY_NEWIDLE,
	/* One on behalf of an idle CPU, by another. */
	POLICY_NOHZ,
	/* Where a woken task goes. */
	POLICY_WAKEUP,
	/* Where a new task goes. */
	POLICY_FORK,
	/* Which groups a CPU's domain at a level consists of. */
	POLICY_DOMAINS,
};

/* The result. */
enum policy_outcome {
	/* Tasks moved. */
	POLICY_MOVED = 1,
	/* The decider's own group is no less loaded than the others. */
	POLICY_BALANCED,
	/* Another CPU balances for this group. */
	POLICY_NOT_DESIGNATED,
	/* There were tasks to move, but none may run here. */
	POLICY_PINNED,
	/* No task waits there. */
	POLICY_NOBODY,
	/* A CPU was chosen. */
	POLICY_CHOSE,
};

struct policy_group {
	/* As computed by the scheduler. */
	u64 load;
	u32 first_cpu;
	u16 cpus;
	/* Tasks that run or wait there. */
	u16 runnable;
};

struct policy_event {
	/* bpf_ktime_get_ns() of policy_begin(). */
	u64 at_ns;
	u32 kind;
	/* The level of the domain; the lowest is 0. */
	u32 level;
	/* The task that decides, or that the decision is for. */
	u32 cpu;
	/* The woken or new task; 0 when balancing. */
	s32 pid;
	/* The CPU chosen, or the busiest; -1: none. */
	s32 chosen;
	/* How many tasks moved. */
	u32 moved;
	u32 outcome;
	/* How many groups there were; the event has the first POLICY_GROUPS. */
	u32 nr_groups;
	/* CPUs that were looked at, one bit each. */
	u64 considered[POLICY_WORDS];
	/* The decider's own comes first. */
	struct policy_group groups[POLICY_GROUPS];
};

_Static_assert(sizeof(struct policy_group) == 16, "readers know it by its size");
_Static_assert(sizeof(struct policy_event) == 424, "readers know it by its size");

#endif
