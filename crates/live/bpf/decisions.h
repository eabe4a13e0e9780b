/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Linux's own fair class considers, as policy events: where a task goes (select_task_rq_fair()), and which groups of
 * CPUs a balancing compares and what it moves (sched_balance_rq()). These programs are loaded only where somebody asks for
 * decisions. Compilers inline some of the functions: the reader names those that a kernel lacks.
 *
 * The kernel keeps what it compares on its stack. So a group's load and class are reckoned here, from the same runqueues
 * and by the same rules, right before the kernel does (update_sg_lb_stats(), group_classify()).
 *
 * A decision begins and ends on one CPU, where no other decision of its kind comes in between: placements run with
 * interrupts off, balancings in a softirq or with interrupts off. Where PREEMPT_RT lets one balancing interrupt another, the
 * domain tells them apart, and the interrupted one is not recorded.
 */
#ifndef KEEL_DECISIONS_H
#define KEEL_DECISIONS_H

#include "ring.h"
#include "numbers.h"
#include "policy_event.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sched_group_capacity {
	unsigned long capacity;
	int imbalance;
};

struct sched_group {
	struct sched_group *next;
	unsigned int group_weight;
	struct sched_group_capacity *sgc;
	unsigned long cpumask[];
};

struct sched_domain {
	struct sched_domain *child;
	struct sched_group *groups;
	unsigned int imbalance_pct;
};

struct lb_env {
	struct sched_domain *sd;
	int src_cpu;
	unsigned int flags;
	struct cpumask *cpus;
};

enum cpu_idle_type {
	CPU_NEWLY_IDLE = 2,
};
#pragma clang attribute pop

/* Flags of select_task_rq(): the task was made by exec or fork. */
#define WF_EXEC 0x02
#define WF_FORK 0x04
/* Of a balancing: no task that was looked at may run here. */
#define LBF_ALL_PINNED 0x01

/* More levels than a machine has domains. */
#define MOST_LEVELS 16

/* What is being decided on a CPU. */
enum {
	A_PLACEMENT = 0,
	A_BALANCING = 1,
};

/* How busy a group is; in the order of keel_trace::policy::GroupClass. */
enum group_class {
	HAS_SPARE = 1,
	FULLY_BUSY = 2,
	IMBALANCED = 5,
	OVERLOADED = 6,
};

/* One decision, as the reader gets it, with the class of each of its groups. */
struct decision {
	struct head head;
	struct policy_event event;
	u8 classes[POLICY_GROUPS];
};

/* A decision under way. */
struct pending {
	/* The task or the domain that it is about; 0: none is under way. */
	u64 about;
	struct decision told;
	/* Space for a group's CPUs. */
	u64 mask[POLICY_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct pending);
} pending SEC(".maps");

/* A group's sums (struct sg_lb_stats). */
struct sums {
	u64 load;
	u64 util;
	u64 runnable;
	u32 fair_tasks;
	u32 tasks;
};

static __always_inline struct pending *pending_of(u32 what)
{
	return bpf_map_lookup_elem(&pending, &what);
}

static __always_inline u32 mask_bytes(void)
{
	u32 words = sizes.words;

	return (words < POLICY_WORDS ? words : POLICY_WORDS) * sizeof(u64);
}

static __always_inline void begin(struct pending *now, u64 about, enum policy_kind kind, u32 level, u32 cpu)
{
	__builtin_memset(&now->told.event, 0, sizeof(now->told.event));
	now->about = about;
	now->told.event.at_ns = bpf_ktime_get_ns();
	now->told.event.kind = kind;
	now->told.event.level = level;
	now->told.event.cpu = cpu;
	now->told.event.chosen = -1;
}

static __always_inline void consider(struct pending *now, u32 cpu)
{
	u32 word = cpu / 64;

	/* Hidden, so that the compiler keeps the bound where the verifier sees it. */
	asm volatile("" : "+r"(word));
	if (word < POLICY_WORDS)
		now->told.event.considered[word] |= 1ULL << (cpu & 63);
}

/* The decision is made: it goes to the reader, or is counted as lost. */
static __always_inline void tell(struct pending *now)
{
	u32 zero = 0;
	u64 *missed = bpf_map_lookup_elem(&lost, &zero);
	struct decision *told = &now->told;
	u32 bytes = sizeof(*told);
	void *ring = ring_here();

	now->about = 0;
	if (!missed || !ring)
		return;
	told->head.at = told->event.at_ns;
	told->head.task = 0;
	told->head.lost = *missed;
	told->head.cpu = bpf_get_smp_processor_id();
	told->head.kind = DECISION;
	told->head.detail = 0;
	/* Most compare no groups. */
	if (!told->event.nr_groups)
		bytes = __builtin_offsetof(struct decision, event.groups);
	if (bpf_ringbuf_output(ring, told, bytes, wake_flags(ring, bytes)))
		(*missed)++;
	else
		*missed = 0;
}

/* One CPU of a group (update_sg_lb_stats()). */
static __always_inline void add_cpu(struct sums *sums, u32 cpu)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	if (!rq)
		return;
	sums->load += rq->cfs.avg.load_avg;
	sums->util += rq->cfs.avg.util_avg > rq->cfs.avg.util_est ? rq->cfs.avg.util_avg : rq->cfs.avg.util_est;
	sums->runnable += rq->cfs.avg.runnable_avg;
	sums->fair_tasks += rq->cfs.h_nr_runnable;
	sums->tasks += rq->nr_running;
}

/* The CPUs of `now->mask`, which are looked at, and their sums. Gives the first one. */
static __always_inline u32 add_cpus(struct pending *now, struct sums *sums)
{
	struct bpf_iter_num words, bits;
	u32 first = 0;
	bool found = 0;
	int *at, *bit;

	bpf_iter_num_new(&words, 0, POLICY_WORDS);
	while ((at = bpf_iter_num_next(&words))) {
		u32 word = *at;
		u64 mask;

		if (word >= POLICY_WORDS)
			break;
		mask = now->mask[word];
		now->told.event.considered[word] |= mask;
		bpf_iter_num_new(&bits, 0, 64);
		while (mask && (bit = bpf_iter_num_next(&bits))) {
			if (mask & 1) {
				u32 cpu = word * 64 + *bit;

				if (!found)
					first = cpu;
				found = 1;
				add_cpu(sums, cpu);
			}
			mask >>= 1;
		}
		bpf_iter_num_destroy(&bits);
	}
	bpf_iter_num_destroy(&words);
	return first;
}

/*
 * How busy it is (group_classify()), as far as tasks, use and capacity say. The classes for cores that share tasks and for
 * tasks too large for their CPU need more than that.
 */
static __always_inline enum group_class class_of(struct sched_group *group, struct sums *sums, u64 pct)
{
	u64 capacity = group->sgc->capacity;

	if (sums->tasks > group->group_weight &&
	    (capacity * 100 < sums->util * pct || capacity * pct < sums->runnable * 100))
		return OVERLOADED;
	if (group->sgc->imbalance)
		return IMBALANCED;
	if (sums->tasks < group->group_weight ||
	    (capacity * pct >= sums->runnable * 100 && capacity * 100 > sums->util * pct))
		return HAS_SPARE;
	return FULLY_BUSY;
}

/* One group, compared: the decider's own is the first of its domain's. */
static __always_inline void add_group(struct pending *now, struct sched_group *group, u64 pct)
{
	struct sums sums = {};
	u32 first, at = now->told.event.nr_groups;

	__builtin_memset(now->mask, 0, sizeof(now->mask));
	bpf_probe_read_kernel(now->mask, mask_bytes(), &group->cpumask);
	first = add_cpus(now, &sums);
	now->told.event.nr_groups = at + 1;
	asm volatile("" : "+r"(at));
	if (at < POLICY_GROUPS) {
		struct policy_group *told = &now->told.event.groups[at];

		told->load = sums.load;
		told->first_cpu = first;
		told->cpus = group->group_weight;
		told->runnable = sums.fair_tasks;
		now->told.classes[at] = class_of(group, &sums, pct);
	}
}

/* All groups of a domain, which form a circle. */
static __always_inline void add_groups(struct pending *now, struct sched_domain *sd)
{
	struct sched_group *group = sd->groups;
	struct bpf_iter_num it;
	int *at;

	bpf_iter_num_new(&it, 0, 4096);
	while ((at = bpf_iter_num_next(&it))) {
		if (!group)
			break;
		add_group(now, group, sd->imbalance_pct);
		group = group->next;
		if (group == sd->groups)
			break;
	}
	bpf_iter_num_destroy(&it);
}

/* How many domains are below this one on its CPU. */
static __always_inline u32 level_of(struct sched_domain *sd)
{
	u32 level;

	for (level = 0; level < MOST_LEVELS; level++) {
		sd = sd->child;
		if (!sd)
			break;
	}
	return level;
}

/*
 * Runs: in the waker or parent, under the task's lock with interrupts off. So do the next four.
 * Reaches itself: no. The only task that a program's end wakes is ksoftirqd, which has one CPU, and for which the kernel
 * does not look for one. Nor do the next four.
 */
SEC("?fentry")
int BPF_PROG(on_place, struct task_struct *p, int prev_cpu, int wake_flags)
{
	struct pending *now = pending_of(A_PLACEMENT);
	u32 here = bpf_get_smp_processor_id();

	if (!now)
		return 0;
	begin(now, (u64)p, wake_flags & (WF_FORK | WF_EXEC) ? POLICY_FORK : POLICY_WAKEUP, 0, here);
	now->told.event.pid = p->pid;
	consider(now, here);
	consider(now, prev_cpu);
	return 0;
}

/* The kernel asks whether this CPU is idle. In the midst of a placement that is a CPU that it looks at. */
SEC("?fentry")
int BPF_PROG(on_ask, int cpu)
{
	struct pending *now = pending_of(A_PLACEMENT);

	if (now && now->about)
		consider(now, cpu);
	return 0;
}

/* The threads of a core, one of which is `core`, are looked at for a woken task. */
SEC("?fentry")
int BPF_PROG(on_ask_core, struct task_struct *p, int core)
{
	struct pending *now = pending_of(A_PLACEMENT);

	if (now && now->about == (u64)p)
		consider(now, core);
	return 0;
}

/* The groups among which a new task's is chosen: of the largest domain first. */
SEC("?fentry")
int BPF_PROG(on_spread, struct sched_domain *sd, struct task_struct *p)
{
	struct pending *now = pending_of(A_PLACEMENT);

	if (now && now->about == (u64)p && !now->told.event.nr_groups) {
		now->told.event.level = level_of(sd);
		add_groups(now, sd);
	}
	return 0;
}

SEC("?fexit")
int BPF_PROG(on_placed, struct task_struct *p, int prev_cpu, int wake_flags, int chosen)
{
	struct pending *now = pending_of(A_PLACEMENT);

	if (!now || now->about != (u64)p)
		return 0;
	consider(now, chosen);
	now->told.event.chosen = chosen;
	now->told.event.outcome = POLICY_CHOSE;
	tell(now);
	return 0;
}

/*
 * Runs: in a softirq with interrupts on; or in __schedule() with interrupts off, the runqueue's lock released. So does
 * on_balanced.
 * Reaches itself: no. A program's end raises softirqs, but calls none. Nor do the next three.
 */
SEC("?fentry")
int BPF_PROG(on_balance, int this_cpu, struct rq *this_rq, struct sched_domain *sd, int idle)
{
	struct pending *now = pending_of(A_BALANCING);
	enum policy_kind kind = POLICY_BALANCE;

	if (!now)
		return 0;
	if (idle == bpf_core_enum_value(enum cpu_idle_type, CPU_NEWLY_IDLE))
		kind = POLICY_NEWIDLE;
	else if (this_cpu != bpf_get_smp_processor_id())
		kind = POLICY_NOHZ;
	begin(now, (u64)sd, kind, level_of(sd), this_cpu);
	now->told.event.outcome = POLICY_NOT_DESIGNATED;
	return 0;
}

/* The groups are about to be compared: this CPU is designated. */
SEC("?fentry")
int BPF_PROG(on_compare, struct lb_env *env)
{
	struct pending *now = pending_of(A_BALANCING);

	/* A second comparison, without the CPUs whose tasks may not move, replaces the first. */
	if (!now || now->about != (u64)env->sd)
		return 0;
	now->told.event.nr_groups = 0;
	now->told.event.outcome = POLICY_BALANCED;
	add_groups(now, env->sd);
	return 0;
}

/* There is a busiest group, or none. */
SEC("?fexit")
int BPF_PROG(on_compared, struct lb_env *env, struct sched_group *busiest)
{
	struct pending *now = pending_of(A_BALANCING);

	if (now && now->about == (u64)env->sd && busiest)
		now->told.event.outcome = POLICY_NOBODY;
	return 0;
}

/*
 * May this task move here?
 *
 * Runs: under the busiest runqueue's lock with interrupts off.
 */
SEC("?fexit")
int BPF_PROG(on_candidate, struct task_struct *p, struct lb_env *env)
{
	struct pending *now = pending_of(A_BALANCING);

	if (!now || now->about != (u64)env->sd)
		return 0;
	now->told.event.chosen = env->src_cpu;
	now->told.event.outcome = env->flags & LBF_ALL_PINNED ? POLICY_PINNED : POLICY_NOBODY;
	return 0;
}

SEC("?fexit")
int BPF_PROG(on_balanced, int this_cpu, struct rq *this_rq, struct sched_domain *sd, int idle, int *goes_on, int moved)
{
	struct pending *now = pending_of(A_BALANCING);

	if (!now || now->about != (u64)sd)
		return 0;
	now->told.event.moved = moved;
	if (moved > 0)
		now->told.event.outcome = POLICY_MOVED;
	tell(now);
	return 0;
}

#endif
