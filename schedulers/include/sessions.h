/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task's session and autogroup. Both belong to its process and change with setsid(), which no callback reports. The
 * kernel's own classes honour an autogroup only for tasks in the root cgroup; number 0 stands for the root cgroup itself.
 */
#ifndef SESSIONS_H
#define SESSIONS_H

#include "keel.h"

/* The number of its autogroup. */
static inline u64 autogroup_of(struct task_struct *p)
{
	return BPF_CORE_READ(p, signal, autogroup, id);
}

/* The session: the pid of the task that began it, 0 for the first one. */
static inline s32 session_of(struct task_struct *p)
{
	return BPF_CORE_READ(p, signal, pids[PIDTYPE_SID], numbers[0].nr);
}

#endif
