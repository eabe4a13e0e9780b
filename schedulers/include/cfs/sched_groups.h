/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, eighth: what balancing compares. A domain consists of groups: the domains of the next level down, first the
 * balancing CPU's, then that of each CPU that is in no group yet. Groups of nodes by hops overlap, so they depend
 * on the CPU that builds them; that each CPU builds its own is the fix for 'scheduling group construction'.
 */
#ifndef CFS_SCHED_GROUPS_H
#define CFS_SCHED_GROUPS_H

#include "domains.h"

/* The paper's order: the busiest is the most loaded of the overloaded groups, else of the imbalanced ones, else of all. */
enum rank {
	RANK_OTHER,
	/* Tasks that may not move prevented balance within it. */
	RANK_IMBALANCED,
	/* More tasks than CPUs. */
	RANK_OVERLOADED,
};

struct sched_group {
	/* Its mask, and its first CPU. */
	u32 id;
	u32 first;
	u64 load;
	u32 cpus;
	u32 nr_running;
	u32 rank;
};

/* One per CPU: what it finds while it balances. */
struct search {
	struct sched_group group;
	struct sched_group local;
	struct sched_group busiest;
	/* For one move: how many tasks may not move here, and a CPU next to this one that one of them may move to. */
	u32 nr_pinned;
	/* A task that ran later than this is cache-hot, and stays. */
	u64 hot_since;
	u32 other_dst;
	/* For all moves: the source CPU, how many tasks moved, whether tasks were found that may not. */
	u32 busiest_cpu;
	u32 moved;
	bool pinned;
	/* For a child's placement: the load of the chosen CPU. */
	u64 least_load;
	/* For policy events. */
	u32 nr_groups;
	struct sched_group told[POLICY_GROUPS];
} LINE;

static struct search searches[MAX_CPUS] LINE;

static __always_inline struct search *search_at(u32 here)
{
	return &searches[here & (MAX_CPUS - 1)];
}

/* It is idle, and no task is on its way there. */
static __always_inline bool is_idle_cpu(u32 cpu)
{
	struct runqueue *rq = runqueue_at(cpu);

	return rq->is_listed && !rq->nr_running;
}

/* The group that a CPU represents in another's domain: its own, smaller domain one level down. */
static __always_inline u32 level_of_group(u32 seed, u32 level, u32 domain_cpus)
{
	struct runqueue *rq = runqueue_at(seed);
	u32 l = level - 1;
	s32 i;

	for_range(i, 0, LEVELS) {
		if (!l || (l <= rq->nr_levels && rq->level_cpus[l & (LEVELS - 1)] < domain_cpus))
			break;
		l--;
	}
	return l;
}

static __always_inline u32 group_of(u32 seed, u32 level, u32 domain_cpus)
{
	return span_of(seed, level_of_group(seed, level, domain_cpus));
}

/* A CPU of the domain that is in no group yet, in the order in which groups are built; NO_CPU if all are in one. */
static __always_inline u32 next_seed(u32 here, u32 cpu, u32 level)
{
	u32 span = span_of(cpu, level), covered = covered_of(here);
	u32 seed;

	if (has_bug(BUG_GROUP_CONSTRUCTION))
		return next_outside(span, covered, 0);
	seed = next_outside(span, covered, cpu);
	return seed < NO_CPU ? seed : next_outside(span, covered, 0);
}

/* The seed of the group that `cpu` itself is in. */
__noinline u32 local_seed(u32 here, u32 cpu, u32 level)
{
	u32 domain_cpus = runqueue_at(cpu)->level_cpus[level & (LEVELS - 1)];
	s32 i;

	if (!has_bug(BUG_GROUP_CONSTRUCTION))
		return cpu;
	clear_mask(covered_of(here));
	for_range(i, 0, MAX_CPUS) {
		u32 seed = next_seed(here, cpu, level), id;

		if (seed >= NO_CPU)
			break;
		id = group_of(seed, level, domain_cpus);
		if (has_cpu(id, cpu))
			return seed;
		add_mask(covered_of(here), id);
	}
	return cpu;
}

/* A group's load by averages; or, as the fix for 'group imbalance', by its least loaded CPU. */
__noinline int weigh_group(u32 here, u32 level)
{
	struct sched_group *g = &search_at(here)->group;
	u64 sum = unknown_zero, least = ~0ULL;
	u32 c, cpus = unknown_zero, nr = unknown_zero;
	s32 i;

	for_each_cpu(i, c, g->id) {
		struct runqueue *rq = runqueue_at(c);
		u64 load = rq->load;

		cpus++;
		nr += rq->nr_running;
		sum += load;
		if (load < least)
			least = load;
	}
	g->first = first_of(g->id);
	g->cpus = cpus;
	g->nr_running = nr;
	g->load = !cpus ? 0 : has_bug(BUG_GROUP_IMBALANCE) ? sum / cpus : least;
	g->rank = nr > cpus ? RANK_OVERLOADED : RANK_OTHER;
	if (g->rank == RANK_OTHER) {
		struct runqueue *first = runqueue_at(g->first);

		if (first->is_imbalanced[level & (LEVELS - 1)])
			g->rank = RANK_IMBALANCED;
	}
	return 0;
}

static __always_inline bool is_busier(const struct sched_group *a, const struct sched_group *b)
{
	return a->rank != b->rank ? a->rank > b->rank : a->load > b->load;
}

/* For policy events: the groups in order, except for the local one, which comes first. */
static __always_inline void keep_to_tell(struct search *found, u32 number, bool is_local)
{
	u32 at = hidden(is_local ? 0 : number);

	found->nr_groups = number + 1;
	if (at >= POLICY_GROUPS)
		return;
	if (is_local && number < POLICY_GROUPS)
		found->told[hidden(number) & (POLICY_GROUPS - 1)] = found->told[0];
	found->told[at & (POLICY_GROUPS - 1)] = found->group;
}

/* find_busiest_group(): goes through the groups of a CPU's domain; false if there is only one. */
__noinline int find_busiest_group(u32 here, u32 cpu, u32 level, u32 local)
{
	struct search *found = search_at(here);
	u32 domain_cpus = runqueue_at(cpu)->level_cpus[level & (LEVELS - 1)];
	bool any = false;
	s32 i;

	clear_mask(covered_of(here));
	found->nr_groups = 0;
	for_range(i, 0, MAX_CPUS) {
		u32 seed = next_seed(here, cpu, level), l;

		if (seed >= NO_CPU)
			break;
		l = level_of_group(seed, level, domain_cpus);
		found->group.id = span_of(seed, l);
		/* A CPU counts as part of its own group even if it has just gone offline. */
		add_cpu(covered_of(here), seed);
		add_mask(covered_of(here), found->group.id);
		weigh_group(here, l);
		keep_to_tell(found, i, seed == local);
		if (seed == local) {
			found->local = found->group;
		} else if (has_cpu(found->group.id, cpu)) {
			/* This one is local, too. */
			continue;
		} else if (!any || is_busier(&found->group, &found->busiest)) {
			found->busiest = found->group;
			any = true;
		}
	}
	return any;
}

static __always_inline bool same_mask(u32 a, u32 b)
{
	u64 differ = 0;
	s32 i;

	for_range(i, 0, nr_words)
		differ |= mask_at(a)->words[i & (CPU_WORDS - 1)] ^ mask_at(b)->words[i & (CPU_WORDS - 1)];
	return !differ;
}

/*
 * should_we_balance(): one CPU balances for its group: the first idle one, else the
 * first. If groups overlap, only CPUs that see the group as it is seen here count.
 */
__noinline int is_designated(u32 here, u32 cpu, u32 level, u32 local)
{
	u32 domain_cpus = runqueue_at(cpu)->level_cpus[level & (LEVELS - 1)];
	u32 id = group_of(local, level, domain_cpus);
	u32 c, first = NO_CPU;
	s32 i;

	for_each_cpu(i, c, id) {
		if (!has_bug(BUG_GROUP_CONSTRUCTION) && !same_mask(group_of(c, level, domain_cpus), id))
			continue;
		if (is_idle_cpu(c))
			return c == cpu;
		if (first >= NO_CPU)
			first = c;
	}
	return first == cpu;
}

#endif
