/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, third: groups. A cgroup has a weight, which its runnable tasks share by their own weights, wherever they run; so
 * does a session of tasks in no cgroup. A task's global weight is thus its own times its group's, over the sum of weights
 * in the group, and so on up nested cgroups: one of 64 threads of a session has 1/64 of what a session's only thread has.
 */
#ifndef CFS_GROUPS_H
#define CFS_GROUPS_H

#include "load.h"
#include "sessions.h"

/* Group 0 is the root, which divides nothing. Then sessions, by number; two that are this far apart share a group. */
#define SESSIONS 4096
#define CGROUPS 4096
#define GROUPS (SESSIONS + CGROUPS)
#define MAX_DEPTH 16

struct group {
	/* Changed from any CPU, atomically: the total weight of its runnable members, and how many tasks those are. */
	s64 sum;
	s32 nr_running;
	/* Its own weight, and the group that it is in. */
	u32 weight;
	u32 parent;
	bool is_used;
} LINE;

static struct group groups[GROUPS] LINE;

/* Each cgroup's number. */
struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} cgroup_numbers SEC(".maps");

static __always_inline struct group *group_at(u32 number)
{
	return &groups[number & (GROUPS - 1)];
}

static __always_inline u64 weight_of_group(struct group *g)
{
	return g->weight ?: NICE_0_WEIGHT;
}

/* Adds runnable weight to a group; with its first task the group itself becomes runnable in its parent. */
static __noinline int add_to_group(u32 number, u64 share, s32 tasks)
{
	s64 more = tasks < 0 ? -(s64)share : (s64)share;
	s32 i, before;

	for_range(i, 0, MAX_DEPTH) {
		struct group *g = group_at(number);

		if (!number)
			break;
		__sync_fetch_and_add(&g->sum, more);
		before = __sync_fetch_and_add(&g->nr_running, tasks);
		/* The group was empty before, or is empty now. */
		if (tasks > 0 ? before > 0 : before > 1)
			more = 0;
		else
			more = tasks > 0 ? (s64)weight_of_group(g) : -(s64)weight_of_group(g);
		number = g->parent;
	}
	return 0;
}

/* The global weight of a member with `share` in a group; calc_cfs_shares() on all levels. */
static __noinline u64 weight_among_all(u32 number, u64 share)
{
	u64 weight = share << WEIGHT_SHIFT;
	s32 i;

	for_range(i, 0, MAX_DEPTH) {
		struct group *g = group_at(number);
		s64 sum = g->sum;

		if (!number)
			break;
		/* The caller is a member, though perhaps not counted yet. */
		if (sum < (s64)share)
			sum = share;
		weight = weight * weight_of_group(g) / (sum > 0 ? (u64)sum : 1);
		share = weight_of_group(g);
		number = g->parent;
	}
	return weight ?: 1;
}

/* The group of a session: no callback reports that a task begins one, so this is checked at every wakeup. */
static __noinline u32 group_of_session(struct task_struct *p)
{
	u64 id;

	if (!autogroup || !bpf_core_field_exists(p->signal) || !bpf_core_field_exists(p->signal->autogroup))
		return 0;
	id = autogroup_of(p);
	return id ? 1 + (id - 1) % (SESSIONS - 1) : 0;
}

static __always_inline void find_group(struct slot *s, struct task_struct *p)
{
	s->group = s->cgroup ?: group_of_session(p);
}

static __always_inline u32 number_of_cgroup(struct cgroup *cgrp)
{
	u32 *number = bpf_cgrp_storage_get(&cgroup_numbers, cgrp, 0, 0);

	return number ? *number : 0;
}

/* The kernel's default cgroup weight is 100; a task's is 1024. */
static __always_inline u32 weight_of_cgroup(u32 weight)
{
	return weight * NICE_0_WEIGHT / 100 ?: 1;
}

/* Assigns a number to a cgroup; the root's is 0. There is one caller at a time. */
static __always_inline s32 begin_cgroup(struct cgroup *cgrp, u32 weight)
{
	struct cgroup *parent;
	u32 *number;
	s32 i;

	if (!cgrp->level)
		return 0;
	number = bpf_cgrp_storage_get(&cgroup_numbers, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!number)
		return -NO_ROOM_ERRNO;
	for_range(i, SESSIONS, GROUPS) {
		struct group *g = group_at(i);

		if (g->is_used)
			continue;
		g->is_used = true;
		g->sum = 0;
		g->nr_running = 0;
		g->weight = weight_of_cgroup(weight);
		g->parent = 0;
		parent = bpf_cgroup_ancestor(cgrp, cgrp->level - 1);
		if (parent) {
			g->parent = number_of_cgroup(parent);
			bpf_cgroup_release(parent);
		}
		*number = i;
		return 0;
	}
	return -NO_ROOM_ERRNO;
}

static __always_inline void end_cgroup(struct cgroup *cgrp)
{
	u32 number = number_of_cgroup(cgrp);

	if (number)
		group_at(number)->is_used = false;
}

/* A group's weight changes; if tasks of it are runnable, its parent has counted the old one. */
static __always_inline void weigh_cgroup(struct cgroup *cgrp, u32 weight)
{
	u32 number = number_of_cgroup(cgrp);
	struct group *g = group_at(number);
	s64 more;

	if (!number)
		return;
	more = (s64)weight_of_cgroup(weight) - (s64)g->weight;
	g->weight = weight_of_cgroup(weight);
	if (g->nr_running > 0 && g->parent)
		__sync_fetch_and_add(&group_at(g->parent)->sum, more);
}

#endif
