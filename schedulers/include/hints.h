/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What makes a task a real-time one for schedulers that have such a class of their own. The kernel's
 * real-time tasks never reach sched_ext, so this is a hint: user space puts it into the map `hints`
 * through the task's pidfd, or the simulated kernel does from a workload. Children inherit their parent's.
 */
#ifndef KEEL_HINTS_H
#define KEEL_HINTS_H

#include "keel.h"

enum hint_policy {
	HINT_NONE,
	HINT_FIFO,
	HINT_RR,
};

struct hint {
	u32 rt_priority;
	u32 policy;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct hint);
} hints SEC(".maps");

/* The task's hint, if it has one. */
static __always_inline struct hint hint_of(struct task_struct *p)
{
	struct hint *hint = bpf_task_storage_get(&hints, p, 0, 0);
	struct hint none = {};

	return hint ? *hint : none;
}

/* A child inherits its parent's hint. */
static __always_inline void inherit_hint(struct task_struct *child, struct task_struct *parent)
{
	struct hint hint = hint_of(parent);

	if (hint.policy)
		bpf_task_storage_get(&hints, child, &hint, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

#endif
