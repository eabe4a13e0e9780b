/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracer, with the cgroup callbacks. In a callback about a cgroup, the pid's place contains the cgroup's id.
 * In a move, the value contains both ids, from and to.
 */
#include "keel.h"

/* The cgroup whose init, or the task whose move, returns this. */
const volatile u64 init_fails_cgid = 0;
const volatile s32 cgroup_init_answer = 0;
const volatile s32 move_fails_pid = 0;
const volatile s32 move_answer = 0;
/* A task that moves has no slice left. */
const volatile bool move_ends_slice = false;

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} marks SEC(".maps");

#define SAY(op, who, value) bpf_printk(op " %d %d %llx", (s32)(who), bpf_get_smp_processor_id(), (u64)(value))
#define FROM_TO(from, to) ((from)->kn->id << 32 | (to)->kn->id)

/* The cgroup that the scheduler's own callbacks refer to, and the one that user space has moved it to. */
static __always_inline u64 group_of(struct task_struct *p)
{
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);
	u64 id = cgrp->kn->id;

	bpf_cgroup_release(cgrp);
	return id << 32 | p->cgroups->dfl_cgrp->kn->id;
}

static __always_inline bool is_found(u64 id)
{
	struct cgroup *cgrp = bpf_cgroup_from_id(id);

	if (!cgrp)
		return false;
	bpf_cgroup_release(cgrp);
	return true;
}

/* Whether it can be referenced. */
static __always_inline bool is_there(struct cgroup *cgrp)
{
	struct cgroup *same = bpf_cgroup_ancestor(cgrp, cgrp->level);

	if (!same)
		return false;
	bpf_cgroup_release(same);
	return true;
}

SLEEPABLE(s32, tracer_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	u64 id = cgrp->kn->id, *mark;

	SAY("cgroup_init", id, args->weight);
	SAY("limits", id, args->bw_quota_us << 32 | args->bw_period_us << 12 | args->bw_burst_us);
	SAY("level", id, cgrp->level);
	SAY("found", id, is_found(id));
	SAY("referred", id, is_there(cgrp));
	mark = bpf_cgrp_storage_get(&marks, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (mark)
		*mark = id + 1000;
	return id == init_fails_cgid ? cgroup_init_answer : 0;
}

SLEEPABLE(void, tracer_cgroup_exit, struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id, *mark = bpf_cgrp_storage_get(&marks, cgrp, 0, 0);

	SAY("cgroup_exit", id, mark ? *mark : 0);
	SAY("found", id, is_found(id));
	SAY("referred", id, is_there(cgrp));
}

SLEEPABLE(s32, tracer_cgroup_prep_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	SAY("cgroup_prep_move", p->pid, FROM_TO(from, to));
	return !move_fails_pid || p->pid == move_fails_pid ? move_answer : 0;
}

CALLBACK(void, tracer_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	SAY("cgroup_move", p->pid, FROM_TO(from, to));
	SAY("group", p->pid, group_of(p));
	if (move_ends_slice)
		set_slice(p, 0);
}

CALLBACK(void, tracer_cgroup_cancel_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	SAY("cgroup_cancel_move", p->pid, FROM_TO(from, to));
}

CALLBACK(void, tracer_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	SAY("cgroup_set_weight", cgrp->kn->id, weight);
}

CALLBACK(void, tracer_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us, u64 burst_us)
{
	SAY("cgroup_set_bandwidth", cgrp->kn->id, quota_us << 32 | period_us << 12 | burst_us);
}

CALLBACK(void, tracer_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	SAY("cgroup_set_idle", cgrp->kn->id, idle);
}

#define SAY_GROUP(p) SAY("group", (p)->pid, group_of(p))
#define SAY_BIRTH(p, args) SAY("born_in", (p)->pid, (args)->cgroup->kn->id)
#define MORE_CALLBACKS                                                                             \
	.cgroup_init = (void *)tracer_cgroup_init, .cgroup_exit = (void *)tracer_cgroup_exit,      \
	.cgroup_prep_move = (void *)tracer_cgroup_prep_move,                                       \
	.cgroup_move = (void *)tracer_cgroup_move,                                                 \
	.cgroup_cancel_move = (void *)tracer_cgroup_cancel_move,                                   \
	.cgroup_set_weight = (void *)tracer_cgroup_set_weight,                                     \
	.cgroup_set_bandwidth = (void *)tracer_cgroup_set_bandwidth,                               \
	.cgroup_set_idle = (void *)tracer_cgroup_set_idle,
#include "tracer.h"
