/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ule, fifth: CPUs that come and go. The kernel never asks for a task for a CPU that is offline, so tasks
 * that wait there must move; the next dispatch elsewhere forwards those that it may not run itself.
 */
#ifndef ULE_HOTPLUG_H
#define ULE_HOTPLUG_H

#include "balance.h"

/* Some task that waits at a runqueue; takes it off the runqueue. */
static __noinline u32 take_any(u32 cpu)
{
	struct runqueue *rq = runqueue_at(cpu);
	struct bpf_spin_lock *lock = lock_of(cpu);
	u32 number = NOBODY;
	s32 which;

	if (!lock)
		return NOBODY;
	bpf_spin_lock(lock);
	for_range(which, 0, QUEUES) {
		struct queue *queue = queue_at(rq, which);

		if (!queue->levels)
			continue;
		number = queue->lists[__builtin_ctzll(queue->levels) & (LEVELS - 1)].first;
		unlink(rq, number);
		break;
	}
	bpf_spin_unlock(lock);
	return number;
}

static __always_inline void leave_cpu(u32 cpu)
{
	u32 other = another_cpu(cpu);
	struct runqueue *there = runqueue_at(other);
	struct bpf_spin_lock *lock = lock_of(other);
	u64 now = scx_bpf_now();
	s32 i;

	runqueue_at(cpu)->offline = true;
	runqueue_at(cpu)->curr = NOBODY;
	if (!lock || other == cpu)
		return;
	for_range(i, 0, SLOTS) {
		u32 number = take_any(cpu);

		if (number == NOBODY)
			break;
		bpf_spin_lock(lock);
		link(other, number, queue_for(there, slot_at(number), now), true, now);
		bpf_spin_unlock(lock);
	}
	scx_bpf_kick_cpu(other, 0);
}

#endif
