// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives cgroups the CPUs by weight, level by level: one queue per cgroup, in order of arrival, and a virtual time
 * that runs the slower the more of the machine a cgroup may have. The cgroup that is furthest behind is served next.
 *
 * A test's scheduler, not a good one: it looks at every cgroup for every pick, and supports at most 64.
 */
#include "keel.h"

LICENSE;

#define MOST 64
/* Hierarchical weight of the root. */
#define WHOLE (1ULL << 20)
#define SLICE_NS 2000000ULL

struct group {
	u64 id, parent, weight, vtime;
	u32 is_there;
};

/* Places by id: the tree is small, so a linear search is good enough. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST);
	__type(key, u32);
	__type(value, struct group);
} groups SEC(".maps");

/* A cgroup's place among the groups. */
struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} places SEC(".maps");

static u64 vtime_now;

static __always_inline struct group *group_at(u32 place)
{
	return bpf_map_lookup_elem(&groups, &place);
}

static __always_inline struct group *group_of(struct cgroup *cgrp)
{
	u32 *place = bpf_cgrp_storage_get(&places, cgrp, 0, 0);

	return place ? group_at(*place) : NULL;
}

/* The part of WHOLE that the cgroup may have when all want CPUs: its weight among its siblings', times its parent's. */
static __always_inline u64 part_of(struct group *group)
{
	u64 part = WHOLE, weight = group->weight, parent = group->parent;
	s32 level, i;

	for_range(level, 0, 4) {
		u64 sum = 0, next_weight = 0, next_parent = 0;

		if (!parent)
			break;
		for_range(i, 0, MOST) {
			struct group *other = group_at(i);

			if (!other || !other->is_there)
				continue;
			if (other->parent == parent)
				sum += other->weight;
			if (other->id == parent) {
				next_weight = other->weight;
				next_parent = other->parent;
			}
		}
		if (sum)
			part = part * weight / sum;
		weight = next_weight;
		parent = next_parent;
	}
	return part ?: 1;
}

CALLBACK(void, shares_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);
	u64 id = cgrp->kn->id;
	struct group *group = group_of(cgrp);

	/* A task does not save up time while it sleeps. */
	if (group && vtime_before(group->vtime, vtime_now))
		group->vtime = vtime_now;
	bpf_cgroup_release(cgrp);
	insert(p, id, SLICE_NS, enq_flags);
}

CALLBACK(void, shares_dispatch, s32 cpu, struct task_struct *prev)
{
	struct group *best = NULL;
	s32 i;

	for_range(i, 0, MOST) {
		struct group *group = group_at(i);

		if (!group || !group->is_there || scx_bpf_dsq_nr_queued(group->id) <= 0)
			continue;
		if (!best || vtime_before(group->vtime, best->vtime))
			best = group;
	}
	if (!best)
		return;
	if (vtime_before(vtime_now, best->vtime))
		vtime_now = best->vtime;
	scx_bpf_dsq_move_to_local(best->id);
}

CALLBACK(void, shares_stopping, struct task_struct *p, bool runnable)
{
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);
	struct group *group = group_of(cgrp);

	if (group)
		group->vtime += (SLICE_NS - p->scx.slice) * WHOLE / part_of(group);
	bpf_cgroup_release(cgrp);
}

SLEEPABLE(s32, shares_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	struct cgroup *parent;
	u32 *place;
	s32 i;

	if (scx_bpf_create_dsq(cgrp->kn->id, -1))
		return -12;
	place = bpf_cgrp_storage_get(&places, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!place)
		return -12;
	for_range(i, 0, MOST) {
		struct group *group = group_at(i);

		if (!group || group->is_there)
			continue;
		group->id = cgrp->kn->id;
		group->weight = args->weight;
		group->vtime = vtime_now;
		group->parent = 0;
		parent = bpf_cgroup_ancestor(cgrp, cgrp->level - 1);
		if (parent) {
			group->parent = parent->kn->id;
			bpf_cgroup_release(parent);
		}
		group->is_there = true;
		*place = i;
		return 0;
	}
	return -28;
}

/* The queue stays: ops.dispatch on another CPU may just have chosen it. */
SLEEPABLE(void, shares_cgroup_exit, struct cgroup *cgrp)
{
	struct group *group = group_of(cgrp);

	if (group)
		group->is_there = false;
}

CALLBACK(void, shares_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	struct group *group = group_of(cgrp);

	if (group)
		group->weight = weight;
}

SCHEDULER(shares_ops,
	  .enqueue = (void *)shares_enqueue,
	  .dispatch = (void *)shares_dispatch,
	  .stopping = (void *)shares_stopping,
	  .cgroup_init = (void *)shares_cgroup_init,
	  .cgroup_exit = (void *)shares_cgroup_exit,
	  .cgroup_set_weight = (void *)shares_cgroup_set_weight,
	  .name = "shares");
