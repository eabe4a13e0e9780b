/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, fourteenth: CPUs that go offline. The kernel asks for no tasks for an offline CPU, so the tasks that wait
 * there are handed to the kernel's own queue of that CPU; the kernel finds each a new CPU, and queues it here again.
 */
#ifndef CFS_HOTPLUG_H
#define CFS_HOTPLUG_H

#include "place.h"

static __always_inline void leave_cpu(u32 cpu)
{
	struct task_struct *p;

	hotplug(cpu, false);
	remove_idle(cpu);
	runqueue_at(cpu)->curr = NOBODY;
	bpf_rcu_read_lock();
	for_each_queued(it, p, dsq_of(cpu), 0)
		scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL_ON | cpu, 0);
	bpf_rcu_read_unlock();
}

#endif
