/* SPDX-License-Identifier: GPL-2.0-only */
/* mq, third: CPUs that go offline, which Linux 2.4 did not know: tasks that wait in their lists hop to another CPU's. */
#ifndef MQ_HOTPLUG_H
#define MQ_HOTPLUG_H

#include "schedule.h"

#include "another_cpu.h"

/* Tasks in a list that were bound to `cpu` no longer are. The lock is held. */
static __always_inline void free_from(struct list *list, u32 cpu)
{
	u32 number = list->first;
	s32 i;

	for_range(i, 0, SLOTS) {
		if (number == NOBODY)
			break;
		if (!slot_at(number)->runs_on)
			lose_home(number, cpu);
		number = slot_at(number)->next;
	}
}

/* The lock is held. */
static __always_inline void move_all(u32 cpu, u32 other)
{
	s32 i;

	for_range(i, 0, SLOTS) {
		u32 number = list_of_cpu(cpu)->first;

		if (number == NOBODY)
			break;
		hop_queues(number, other);
	}
}

static __always_inline void leave_cpu(u32 cpu)
{
	u32 other = another_cpu(cpu);
	s32 i;

	cpus_leave = true;
	cpu_at(cpu)->offline = true;
	bpf_spin_lock(&runqueue_lock.lock);
	free_from(&runqueue.list, cpu);
	for_range(i, 0, nr_cpus)
		free_from(list_of_cpu(i), cpu);
	if (!global_queue)
		move_all(cpu, other);
	bpf_spin_unlock(&runqueue_lock.lock);
}

#endif
