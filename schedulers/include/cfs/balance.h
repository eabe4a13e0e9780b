/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, tenth: the balancer, the paper's Algorithm 1. For one domain of a CPU: if this CPU is the one to balance, find the
 * busiest group; if that group has more load than its own, take half of the busiest CPU's excess; if none of that CPU's
 * tasks may move here, exclude it and try again. Every decision about 'who compares what' is here and in sched_groups.h.
 */
#ifndef CFS_BALANCE_H
#define CFS_BALANCE_H

#include "move.h"

/* How many CPUs are excluded before it gives up. */
#define TRIES 32

/* How often each CPU compared the groups of a domain. */
COUNTER(balances);

/* The results, for policy events. */
static __noinline int tell_balance(u32 here, u32 cpu, u32 level, u32 kind, u32 outcome)
{
	struct search *found = search_at(here);
	struct policy_event *e = policy_begin(kind, level - 1, cpu);
	s32 i;

	if (!e)
		return 0;
	for_range(i, 0, POLICY_WORDS)
		e->considered[i & (POLICY_WORDS - 1)] = mask_at(span_of(cpu, level))->words[i & (CPU_WORDS - 1)];
	for_range(i, 0, POLICY_GROUPS) {
		struct sched_group *g = &found->told[i & (POLICY_GROUPS - 1)];

		if (i >= found->nr_groups || outcome == POLICY_NOT_DESIGNATED)
			break;
		policy_group(e, g->load >> WEIGHT_SHIFT, g->first, g->cpus, g->nr_running);
	}
	if (outcome != POLICY_NOT_DESIGNATED)
		e->nr_groups = found->nr_groups;
	policy_outcome(e, outcome, found->busiest_cpu < NO_CPU ? (s32)found->busiest_cpu : -1, found->moved);
	policy_tell(e);
	return 0;
}

/* find_busiest_queue(): the most loaded CPU among those with waiting tasks; NO_CPU if there is none. */
__noinline u32 find_busiest_cpu(u32 here, u32 id)
{
	u32 c, found = NO_CPU;
	u64 most = 0;
	s32 i;

	for_each_cpu(i, c, id) {
		struct runqueue *rq = runqueue_at(c);
		u64 load = rq->load;

		if (rq->nr_running < 2 || has_cpu(excluded_of(here), c) || load < most)
			continue;
		most = load;
		found = c;
	}
	return found;
}

/*
 * Half the difference between two CPUs; an idle CPU always takes something. If that is less than one task, one moves if it weighs
 * no more than the difference, though that evens out nothing: so three hogs on two CPUs take turns (fix_small_imbalance()).
 */
static __always_inline u64 load_to_move(u32 from, u32 to)
{
	struct runqueue *rq = runqueue_at(to), *busiest = runqueue_at(from);
	u64 theirs = busiest->load, ours = rq->load, nr = busiest->nr_running, a_task;

	/* source_load(), target_load(): a busy CPU ignores very recent changes, such as its own last move. */
	if (rq->nr_running && take_turns) {
		theirs = busiest->smoothed_load < theirs ? busiest->smoothed_load : theirs;
		ours = rq->smoothed_load > ours ? rq->smoothed_load : ours;
	}
	if (theirs <= ours + 1)
		return !rq->nr_running;
	a_task = nr ? theirs / nr : theirs;
	/* Averages of waiting tasks may be slightly stale: a difference of 1/64 does not matter. */
	if (take_turns && theirs - ours + (theirs >> 6) >= a_task && (theirs - ours) / 2 < a_task)
		return a_task;
	return (theirs - ours) / 2;
}

/* Takes tasks for a CPU from the busiest group. */
static __always_inline void take_from_busiest(u32 here, u32 cpu)
{
	struct search *found = search_at(here);
	u32 dst;
	s32 i;

	clear_mask(excluded_of(here));
	for_range(i, 0, TRIES) {
		u32 from = find_busiest_cpu(here, found->busiest.id);
		u64 load;

		if (from >= NO_CPU)
			break;
		found->busiest_cpu = from;
		load = load_to_move(from, cpu);
		if (load) {
			found->moved = move_load(here, from, cpu, load, found->local.id);
			found->pinned |= found->nr_pinned > 0;
			dst = found->other_dst;
			/* No task may move here, but one may move to an idle CPU next to this one. */
			if (!found->moved && dst < NO_CPU && dst != cpu)
				found->moved = move_load(here, from, dst, load, NO_MASK);
		}
		if (found->moved)
			break;
		add_cpu(excluded_of(here), from);
	}
}

/* load_balance(): one domain of a CPU; returns how many tasks moved. */
__noinline int load_balance(u32 cpu, u32 level, u32 kind)
{
	u32 here = bpf_get_smp_processor_id(), local = local_seed(here, cpu, level);
	struct search *found = search_at(here);
	bool *is_imbalanced;

	found->busiest_cpu = NO_CPU;
	found->moved = 0;
	found->pinned = false;
	if (kind != POLICY_NEWIDLE && !is_designated(here, cpu, level, local)) {
		tell_balance(here, cpu, level, kind, POLICY_NOT_DESIGNATED);
		return 0;
	}
	found->hot_since = kind == POLICY_NEWIDLE ? scx_bpf_now() - migration_cost_ns : ~0ULL;
	balances[here & (MAX_CPUS - 1)].times++;
	/* What the next domain up learns about this one. */
	is_imbalanced = &runqueue_at(first_of(span_of(cpu, level)))->is_imbalanced[level & (LEVELS - 1)];
	if (!find_busiest_group(here, cpu, level, local) ||
	    (found->busiest.rank != RANK_IMBALANCED && found->busiest.load <= found->local.load)) {
		*is_imbalanced = false;
		tell_balance(here, cpu, level, kind, POLICY_BALANCED);
		return 0;
	}
	take_from_busiest(here, cpu);
	*is_imbalanced = found->pinned;
	tell_balance(here, cpu, level, kind,
		     found->moved ? POLICY_MOVED : found->pinned ? POLICY_PINNED : POLICY_NOBODY);
	return found->moved;
}

#endif
