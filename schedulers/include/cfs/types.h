/* SPDX-License-Identifier: GPL-2.0-only */
/* cfs, first: its settings, what it keeps for each task and each CPU. */
#ifndef CFS_TYPES_H
#define CFS_TYPES_H

#include "policy.h"

/* The four bugs of the Wasted Cores paper, each where the paper locates it. */
enum bug {
	/* Groups of CPUs are compared by their average load. The fix: by their least loaded CPU's. */
	BUG_GROUP_IMBALANCE = 1,
	/* The groups of nodes are built from CPU 0's point of view. The fix: from each CPU's. */
	BUG_GROUP_CONSTRUCTION = 2,
	/* A woken task stays within its waker's or its own last cache. The fix: it may go anywhere, to the CPU that has idled longest. */
	BUG_OVERLOAD_ON_WAKEUP = 4,
	/* When a CPU comes or goes, domains are rebuilt without those above the node. The fix: with them. */
	BUG_MISSING_DOMAINS = 8,
};

/* Settings. The bugs to enable, joined: --set bug=group-imbalance+missing-domains. */
const volatile enum bug bug = 0;
/* Every task of a CPU runs once in this time; the shortest turn; how far behind a woken task must be to preempt. For one CPU. */
const volatile u64 latency_ns = 6000000;
const volatile u64 min_granularity_ns = 750000;
const volatile u64 wakeup_granularity_ns = 1000000;
/* A CPU whose average idle time is shorter does not look for tasks when it runs out: sysctl_sched_migration_cost. */
const volatile u64 migration_cost_ns = 500000;
/* How many times less often a busy CPU balances. */
const volatile u32 busy_factor = 32;
/* Tasks that are in no cgroup form one group per session. */
const volatile bool autogroup = true;
/* Off-switches for experiments: balancing only at wakeup and fork; none by CPUs that are about to idle; none for idle ones. */
const volatile bool periodic_balance = true;
const volatile bool newidle_balance = true;
const volatile bool nohz_balance = true;
/* And: an odd task out stays where it is; CPUs that run out balance whatever it costs, and take cache-hot tasks, too. */
const volatile bool take_turns = true;
const volatile bool newidle_gate = true;

static __always_inline bool has_bug(enum bug which)
{
	return bug & which;
}

/* Weights have this many more bits than the kernel's, so that a share of a share is not rounded to nothing. */
#define WEIGHT_SHIFT 10
#define NICE_0_WEIGHT 1024
#define NICE_0_LOAD ((u64)NICE_0_WEIGHT << WEIGHT_SHIFT)

/* No CPU has this number. */
#define NO_CPU MAX_CPUS

/* What a runqueue counts for a task, and must subtract again when the task leaves. */
struct tally {
	/* The runqueue's number plus 1; 0: none. */
	u32 where;
	/* How often it has been counted again. */
	u32 times;
	/* The group and the task's own weight in it. */
	u32 group;
	u64 share;
	/* Its weight among all tasks, and its load. */
	u64 weight;
	u64 load;
};

struct slot {
	/* Its running time when last charged, and when its turn began. */
	u64 ran_ns;
	u64 turn_ns;
	/* The fraction of the recent past in which it was runnable, and the time up to which that is computed. */
	u64 averaged_at;
	u32 average;
	/* The weight of its nice value. */
	u32 weight;
	/* Which minimum its vruntime refers to: `clock`'s, or `offered_clock`'s if the vruntime is one that a balancer offered. */
	u32 clock;
	u32 offered_clock;
	u64 offered_vruntime;
	/* A balancer is moving it. */
	u32 is_moving;
	/* Its group: its cgroup, or else its session. */
	u32 cgroup;
	u32 group;
	/* When it last gave its CPU up. */
	u64 ran_until;
	/* It may use all CPUs. */
	bool everywhere;
	/* It has not run yet. */
	bool is_new;
	/* SCHED_IDLE; SCHED_BATCH or SCHED_IDLE, which preempt nobody. */
	bool is_idle;
	bool is_batch;
	struct tally tally;
} __attribute__((aligned(64)));

#include "slots.h"

/* Levels of domains. Level 0 is the CPU alone; the others are the kernel's domains, from the innermost on. */
#define LEVELS 8

struct runqueue {
	/* Runnable tasks, who runs among them; changed from anywhere, atomically. */
	u32 nr_running LINE;
	/* It is idle, and in the list of idle CPUs. */
	bool is_listed;
	u64 weight;
	u64 load;

	/* Owned by the CPU, read by others. The lowest vruntime, which never decreases. */
	u64 min_vruntime LINE;
	/* The running task: its slot, its current vruntime, its weight. */
	u32 curr;
	u64 curr_vruntime;
	u64 curr_at;
	u64 curr_weight;
	/* Since when it has been idle, and how long it recently idled on average. */
	u64 idle_since;
	u64 average_idle;
	/* Its load over the last ticks: cpu_load[2]. */
	u64 smoothed_load;
	bool offline;
	/* Since when tasks have waited here though the CPU runs nothing; 0 if that is not so. Others write it. */
	u64 stuck_since;

	/* Requests by others: choose again; the running task gives way in any case; balance; balance on behalf of all idle CPUs. */
	bool resched LINE;
	bool yields;
	bool due;
	bool nohz;
	bool rescues;
	/* Neighbours in the list of idle CPUs; NO_CPU at its ends. */
	u32 idle_next;
	u32 idle_prev;

	/* Its domains: how many levels, without level 0; how many CPUs each has; when each was last balanced. */
	u32 nr_levels LINE;
	/* How many of those are within a node, and the largest that shares a cache. */
	u32 nr_node_levels;
	u32 cache_level;
	u32 level_cpus[LEVELS];
	u64 balanced_at[LEVELS] LINE;
	/* The recent maximum cost of balancing when the CPU runs out of tasks; and when that maximum last decayed. */
	u64 newidle_cost[LEVELS];
	u64 cost_decayed_at;
	/* Tasks that may not move prevented balance within this domain, whose first CPU this is. */
	bool is_imbalanced[LEVELS];
} LINE;

static struct runqueue cpu_runqueues[MAX_CPUS] LINE;

/* Always 0, but the verifier does not know that: it would track a sum that begins with a known number step by step. */
u32 unknown_zero;

/* Opaque to the compiler, so that it keeps a bound check that it considers redundant where the verifier can see it. */
static __always_inline u32 hidden(u32 number)
{
	asm volatile("" : "+r"(number));
	return number;
}

static __always_inline struct runqueue *runqueue_at(u32 number)
{
	number = hidden(number);
	return &cpu_runqueues[number & (MAX_CPUS - 1)];
}

static __always_inline bool is_offline(u32 cpu)
{
	return runqueue_at(cpu)->offline;
}

#include "kick.h"

/* The queue of a CPU's waiting tasks, by vruntime. */
#define DSQ_BASE 0x1000
static __always_inline u64 dsq_of(u32 cpu)
{
	return DSQ_BASE + cpu;
}

/* How many tasks wait there; unlike the runqueues' counts, this is never off, even for a moment. */
static __always_inline u32 waiting_at(u32 cpu)
{
	s32 nr = scx_bpf_dsq_nr_queued(dsq_of(cpu));

	return nr > 0 ? nr : 0;
}

static __always_inline bool may_use(u32 number, u32 cpu)
{
	return slot_at(number)->everywhere || slot_allows(number, hidden(cpu));
}

#endif
