/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, thirteenth: which CPU to place a task on. A woken task goes to its last CPU if that is idle,
 * else to the one that has idled longest, anywhere: the fix for 'overload on wakeup'. With the bug,
 * and if no CPU is idle, it stays within its cache: on an idle CPU next to the waker's or its own last
 * one, else on that one. A child goes down the domains, from group to group, to the least loaded CPU.
 */
#ifndef CFS_PLACE_H
#define CFS_PLACE_H

#include "rounds.h"

/* A group or a CPU must be this much less loaded, in percent: half of imbalance_pct. */
#define LESS_LOADED 112
/* The maximum number of times it chooses. */
#define CHOICES 16

/* The CPUs that share a CPU's last-level cache: on the paper's machine those of its node. */
static __always_inline u32 cache_of(u32 cpu)
{
	return span_of(cpu, runqueue_at(cpu)->cache_level & (LEVELS - 1));
}

/* wake_affine(): of the waker's CPU and the last one, the less loaded one; at about the same load, the waker's. */
static __always_inline u32 affine_cpu(u32 number, u32 here, u32 last)
{
	u64 load_here = runqueue_at(here)->load, load_last = runqueue_at(last)->load;

	if (here == last || runqueue_at(here)->offline || !may_use(number, here))
		return last;
	return load_here * 100 <= load_last * LESS_LOADED ? here : last;
}

/* select_idle_sibling(): an idle CPU that shares a cache with this one. */
__noinline u32 idle_sibling(u32 number, u32 target, u32 last)
{
	u32 id = cache_of(target), idle;

	if (is_idle_cpu(target) && may_use(number, target))
		return target;
	if (is_idle_cpu(last) && has_cpu(id, last) && may_use(number, last))
		return last;
	idle = idle_for(number, id, NO_MASK);
	return idle < NO_CPU ? idle : target;
}

static __always_inline u32 place_woken(struct task_struct *p, u32 number, u32 last)
{
	u32 here = bpf_get_smp_processor_id();
	u32 target, idle;

	if (!has_bug(BUG_OVERLOAD_ON_WAKEUP)) {
		if (is_idle_cpu(last) && may_use(number, last))
			return last;
		idle = longest_idle(number);
		/* The task may not be allowed to use any of the first ones in the list. */
		if (idle >= NO_CPU && nr_idle > IDLE_LOOKS)
			idle = idle_for(number, span_of(last, runqueue_at(last)->nr_levels & (LEVELS - 1)), NO_MASK);
		if (idle < NO_CPU)
			return idle;
	}
	target = affine_cpu(number, here, last);
	return idle_sibling(number, target, last);
}

/* Which CPUs were considered for a task, for policy events. */
static __always_inline void tell_considered(struct policy_event *e, bool is_new, u32 last)
{
	u32 here = bpf_get_smp_processor_id(), level = runqueue_at(last)->nr_levels;
	u32 id = is_new ? span_of(last, level & (LEVELS - 1)) : cache_of(last), more = is_new ? id : cache_of(here);
	s32 i;

	if (!e)
		return;
	for_range(i, 0, POLICY_WORDS) {
		u64 cpus = mask_at(id)->words[i & (CPU_WORDS - 1)] | mask_at(more)->words[i & (CPU_WORDS - 1)];

		/* The list of idle CPUs contains all of them. */
		if (!is_new && !has_bug(BUG_OVERLOAD_ON_WAKEUP))
			cpus = online.words[i & (CPU_WORDS - 1)];
		e->considered[i & (CPU_WORDS - 1)] = cpus;
	}
}

/* find_idlest_cpu() */
__noinline u32 idlest_cpu(u32 number, u32 id, u32 otherwise)
{
	u64 least = ~0ULL;
	u32 c, found = otherwise;
	s32 i;

	for_each_cpu(i, c, id) {
		struct runqueue *rq = runqueue_at(c);
		u64 load = rq->load;

		if (rq->offline || !may_use(number, c) || load >= least)
			continue;
		least = load;
		found = c;
		if (!load)
			break;
	}
	search_at(bpf_get_smp_processor_id())->least_load = least;
	return found;
}

/* A group's mean load per CPU, over the CPUs that the task may use; above any load if it may use none. */
__noinline u64 mean_load(u32 number, u32 id)
{
	u64 sum = unknown_zero;
	u32 c, cpus = unknown_zero;
	bool usable = false;
	s32 i;

	for_each_cpu(i, c, id) {
		sum += runqueue_at(c)->load;
		cpus++;
		if (may_use(number, c))
			usable = true;
	}
	return usable ? sum / (cpus ?: 1) : ~0ULL;
}

/* find_idlest_group(): the idlest group of a domain; NO_MASK if the local one is about as good. */
__noinline u32 idlest_group(u32 number, u32 cpu, u32 level)
{
	u32 here = bpf_get_smp_processor_id();
	u32 domain_cpus = runqueue_at(cpu)->level_cpus[level & (LEVELS - 1)];
	u64 least = ~0ULL, local_load = ~0ULL;
	u32 found = NO_MASK;
	s32 i;

	clear_mask(covered_of(here));
	for_range(i, 0, MAX_CPUS) {
		u32 seed = next_seed(here, cpu, level), id;
		u64 load;

		if (seed >= NO_CPU)
			break;
		id = group_of(seed, level, domain_cpus);
		add_cpu(covered_of(here), seed);
		add_mask(covered_of(here), id);
		load = mean_load(number, id);
		/* Each group that contains this CPU is local; where groups are built wrongly, that may be all of them. */
		if (has_cpu(id, cpu)) {
			local_load = load;
		} else if (load < least) {
			least = load;
			found = id;
		}
	}
	if (found == NO_MASK)
		return NO_MASK;
	return local_load / LESS_LOADED <= least / 100 ? NO_MASK : found;
}

/* find_idlest_group() and find_idlest_cpu(), domain by domain, from the outermost inwards. */
__noinline u32 idlest_from(u32 number, u32 last)
{
	u32 cpu = last, level = runqueue_at(last)->nr_levels, id;
	s32 i;

	for_range(i, 0, LEVELS) {
		if (!level || level >= LEVELS)
			break;
		id = idlest_group(number, cpu, level);
		if (id != NO_MASK)
			cpu = idlest_cpu(number, id, cpu);
		level--;
	}
	return may_use(number, cpu) ? cpu : last;
}

/*
 * Other CPUs choose at the same time, and here that takes longer than in the kernel. So the task is counted
 * at its CPU right away, and chooses again if other tasks have been counted there, too, since it looked.
 */
static __always_inline u32 place_child(u32 number, u32 last)
{
	struct search *found = search_at(bpf_get_smp_processor_id());
	u32 cpu = last;
	s32 i;

	for_range(i, 0, CHOICES) {
		found->least_load = ~0ULL;
		cpu = idlest_from(number, last);
		count_at(number, cpu);
		if (runqueue_at(cpu)->load - slot_at(number)->tally.load <= found->least_load)
			break;
	}
	return cpu;
}

#endif
