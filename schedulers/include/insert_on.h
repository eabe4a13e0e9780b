/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPUs a task may use, and how a task that was taken off one of the scheduler's own queues gets to one.
 * Define `struct slot` before you include this; it needs the member `everywhere`: the task may use all CPUs.
 */
#ifndef KEEL_INSERT_ON_H
#define KEEL_INSERT_ON_H

#include "slots.h"

static __always_inline bool may_use(u32 number, u32 cpu)
{
	return slot_at(number)->everywhere || slot_allows(number, cpu);
}

/*
 * Inserts a task at `cpu`, which dispatches, or, if it `stays`, at the CPU that it is counted at. False if that is no
 * longer valid. The task's CPUs may have changed since it was chosen. Then the kernel calls ops.set_cpumask() and,
 * maybe at another CPU, ops.enqueue(): the task waits again, and an insertion for the old CPU would end the scheduler.
 * A check before the insertion may be too early. After it is soon enough: a later change makes the insertion void.
 */
static __always_inline bool insert_on(struct task_struct *p, u32 number, u32 cpu, bool stays, u64 slice_ns)
{
	u32 home = stays ? scx_bpf_task_cpu(p) : cpu;

	if (!insert(p, stays ? SCX_DSQ_LOCAL_ON | home : SCX_DSQ_LOCAL, slice_ns, 0))
		return false;
	if (stays ? scx_bpf_task_cpu(p) == home : may_use(number, cpu))
		return true;
	scx_bpf_dispatch_cancel();
	return false;
}

#endif
