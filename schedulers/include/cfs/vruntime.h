/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, fifth: weighted fair queueing on one CPU. A task's vruntime is its running time divided by its weight; the task with the
 * least runs, for its weight's share of the period. A runqueue's minimum vruntime, which never decreases, is the clock for all of
 * its tasks: a task that moves to another runqueue keeps its distance; one that slept is placed a little behind it, a child ahead.
 */
#ifndef CFS_VRUNTIME_H
#define CFS_VRUNTIME_H

#include "tally.h"

/* sched_nr_latency: with more tasks than this the period becomes longer. */
#define TASKS_IN_LATENCY 8

/* get_update_sysctl_factor(): 1 + log2 of the number of CPUs, which counts as 8 at most. */
static __always_inline u64 tuned(u64 ns)
{
	u32 factor = nr_cpus >= 8 ? 4 : nr_cpus >= 4 ? 3 : nr_cpus >= 2 ? 2 : 1;

	return ns * factor;
}

/* __sched_period() */
static __always_inline u64 period_of(u32 nr_running)
{
	if (nr_running > TASKS_IN_LATENCY)
		return nr_running * tuned(min_granularity_ns);
	return tuned(latency_ns);
}

/* calc_delta_fair(): running time converted to vruntime. */
static __always_inline u64 virtual_ns(u64 ns, u64 weight)
{
	return weight == NICE_0_LOAD ? ns : ns * NICE_0_LOAD / (weight ?: 1);
}

/* sched_slice(): a task's share of the period next to this many others; `more` if it is not counted yet. */
static __always_inline u64 slice_of(struct runqueue *rq, u32 others, u64 weight, bool more)
{
	u64 sum = rq->weight + (more ? weight : 0);

	if (sum < weight || !sum)
		sum = weight ?: 1;
	return period_of(others + 1) * weight / sum;
}

/* The current vruntime of the task that runs there. */
static __always_inline u64 running_vruntime(struct runqueue *rq, u64 now)
{
	u64 since = rq->curr_at;

	return rq->curr_vruntime + (now > since ? virtual_ns(now - since, rq->curr_weight) : 0);
}

/* update_min_vruntime(): while no task waits it is the running task's. */
static __always_inline void raise_min(struct runqueue *rq, u64 vruntime)
{
	if (vtime_before(rq->min_vruntime, vruntime))
		rq->min_vruntime = vruntime;
}

static __always_inline void raise_min_alone(struct runqueue *rq, u64 now)
{
	if (rq->nr_running == 1 && rq->curr != NOBODY)
		raise_min(rq, running_vruntime(rq, now));
}

/* The smaller one of the running task's vruntime and the first waiting task's. */
static __noinline u64 least_of(u32 cpu, u64 vruntime)
{
	struct task_struct *p;
	u64 least = vruntime;

	for_each_queued(it, p, dsq_of(cpu), 0) {
		if (vtime_before(p->scx.dsq_vtime, least))
			least = p->scx.dsq_vtime;
		break;
	}
	return least;
}

/*
 * update_curr(): charges the running task, and advances the runqueue's clock. If the clock stood
 * still while tasks wait, a task that is moved again and again would never get nearer to its turn.
 */
static __always_inline void charge(u32 cpu, u32 number, struct task_struct *p, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);
	struct slot *s = slot_at(number);
	u64 ran = p->se.sum_exec_runtime - s->ran_ns;
	u64 vruntime = p->scx.dsq_vtime + virtual_ns(ran, s->tally.weight);

	s->ran_ns = p->se.sum_exec_runtime;
	if (ran)
		set_vtime(p, vruntime);
	rq->curr_vruntime = vruntime;
	rq->curr_at = now;
	rq->curr_weight = s->tally.weight;
	raise_min(rq, rq->nr_running <= 1 ? vruntime : least_of(cpu, vruntime));
}

/* Converts a vruntime that refers to one runqueue's minimum to another's. */
static __always_inline u64 on_clock_of(u64 vruntime, u32 from, u32 to)
{
	return from == to ? vruntime : vruntime - runqueue_at(from)->min_vruntime + runqueue_at(to)->min_vruntime;
}

/* Which clock a task's vruntime refers to: one that a balancer offered refers to the runqueue that it was moved to. */
static __always_inline u32 clock_of(struct slot *s, u64 vruntime)
{
	u32 offered = s->offered_clock;

	return offered < NO_CPU && vruntime == s->offered_vruntime ? offered : s->clock;
}

static __always_inline void offer(struct slot *s, u64 vruntime, u32 clock)
{
	s->offered_clock = NO_CPU;
	s->offered_vruntime = vruntime;
	s->offered_clock = clock;
}

/* From now on its vruntime refers to this runqueue's. */
static __always_inline void settle_clock(struct slot *s, u32 cpu)
{
	s->clock = cpu;
	s->offered_clock = NO_CPU;
}

/* place_entity(): places a task that slept, or is new; other tasks keep their vruntime. */
static __always_inline u64 placed(struct runqueue *rq, u32 others, struct slot *s, u64 vruntime, bool wakes)
{
	u64 least = rq->min_vruntime;

	if (s->is_new) {
		u64 weight = weight_among_all(s->group, s->weight);

		return least + virtual_ns(slice_of(rq, others, weight, true), weight);
	}
	if (!wakes)
		return vruntime;
	/* However long it slept, it is at most half a period ahead of the others. */
	least -= tuned(latency_ns) / 2;
	return vtime_before(vruntime, least) ? least : vruntime;
}

/* wakeup_preempt_entity(): whether it is so far behind the running task that that task must give way. */
static __always_inline bool preempts(struct runqueue *rq, u32 number, u64 vruntime, u64 now)
{
	struct slot *s = slot_at(number);
	u64 behind;

	if (rq->curr == NOBODY || rq->curr == number)
		return false;
	if (slot_at(rq->curr)->is_idle && !s->is_idle)
		return true;
	if (s->is_batch)
		return false;
	behind = running_vruntime(rq, now) - vruntime;
	return (s64)behind > (s64)virtual_ns(tuned(wakeup_granularity_ns), s->tally.weight);
}

/* check_preempt_tick(): whether the turn of the running task is over, given this many waiting tasks. */
static __always_inline bool turn_is_over(struct runqueue *rq, u32 waiting, struct slot *s)
{
	u64 ran = s->ran_ns - s->turn_ns;

	return waiting && ran > slice_of(rq, waiting, s->tally.weight, false);
}

#endif
