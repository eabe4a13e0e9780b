/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What schedulers with one lock for all their tasks share: how a task gets to a CPU, and
 * what happens to tasks whose CPUs go offline. Their slots have `pid`, `everywhere` (it may
 * use all CPUs) and `homeless` (the CPUs that it may use went offline while it waited).
 */
#ifndef KEEL_HANDOVER_H
#define KEEL_HANDOVER_H

#include "insert_on.h"

/* Tasks that have no slot, or that serve one CPU, are left to the kernel. */
static __always_inline bool is_the_kernels(struct task_struct *p, u32 number)
{
	return number == NOBODY || is_bound_kthread(p);
}

/* They go straight to their CPU. */
static __always_inline bool pass_on(struct task_struct *p, u32 number, u64 enq_flags)
{
	if (is_the_kernels(p, number)) {
		u64 preempt = enq_flags & SCX_ENQ_WAKEUP ? SCX_ENQ_PREEMPT : 0;

		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags | preempt);
		return true;
	}
	return false;
}

/*
 * Gives a task to the CPU that chose it, with an unlimited slice. False
 * if the CPU must choose again: the task died, or belongs to another CPU.
 */
static __always_inline bool hand_over(u32 number, u32 cpu)
{
	struct task_struct *p = bpf_task_from_pid(slot_at(number)->pid);
	bool stays, comes;

	if (!p)
		return false;
	stays = slot_at(number)->homeless || is_leaving_cpu(p);
	comes = insert_on(p, number, cpu, stays, SCX_SLICE_INF) && !stays;
	bpf_task_release(p);
	return comes;
}

static __always_inline void note_cpus(struct task_struct *p)
{
	u32 number = slot_of(p);

	slot_at(number)->everywhere = copy_cpus(number, p);
	slot_at(number)->homeless = false;
}

/*
 * For a task that waits while `cpu` goes offline. A task that may use only this CPU would wait forever. Any CPU may
 * now take such a task, and hands it to the CPU that it is still counted at, where the kernel finds a new CPU for it.
 */
static __always_inline void lose_home(u32 number, u32 cpu)
{
	struct slot *s = slot_at(number);

	if (!s->everywhere && slot_allows(number, cpu)) {
		s->everywhere = true;
		s->homeless = true;
	}
}

/* Notifies every other idle CPU. */
static __always_inline void tell_others(s32 cpu)
{
	s32 i;

	for_range(i, 0, nr_cpus)
		if (i != cpu)
			scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
}

#endif
