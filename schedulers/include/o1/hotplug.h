/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1, sixth: CPUs that come and go. The kernel never asks for a task for a CPU that is offline, so tasks
 * that wait there must move; the next dispatch elsewhere forwards those that it may not run itself.
 *
 * Before Linux 7.2 the kernel stops asking such a CPU for tasks, waits for an RCU grace period, and only then
 * calls cpu_offline: in the meantime other CPUs take the tasks that wait here (runqueues.h). Under load, with a
 * pinned task among it, the CPU went and came back in 4 of 4 tries on 6.18, 6 of 6 on 7.0 and 10 of 10 on 7.2.
 */
#ifndef O1_HOTPLUG_H
#define O1_HOTPLUG_H

#include "balance.h"

/* Some task that waits at a runqueue; takes it off the runqueue. */
static __noinline u32 take_any(u32 queue)
{
	struct runqueue *rq = runqueue_at(queue);
	struct bpf_spin_lock *lock = lock_at(queue);
	u32 number = NOBODY;
	u64 bitmap;

	if (!lock)
		return NOBODY;
	bpf_spin_lock(lock);
	bitmap = array_at(rq, rq->active)->bitmap;
	if (bitmap) {
		number = array_at(rq, rq->active)->lists[__builtin_ctzll(bitmap) & (LEVELS - 1)].first;
	} else {
		bitmap = array_at(rq, rq->active ^ 1)->bitmap;
		if (bitmap)
			number = array_at(rq, rq->active ^ 1)->lists[__builtin_ctzll(bitmap) & (LEVELS - 1)].first;
	}
	if (number != NOBODY)
		unlink(rq, number);
	bpf_spin_unlock(lock);
	return number;
}

static __always_inline void leave_cpu(u32 cpu)
{
	u32 other = another_cpu(cpu);
	struct runqueue *rq = runqueue_at(other);
	struct bpf_spin_lock *lock = lock_at(other);
	s32 i;

	runqueue_at(cpu)->offline = true;
	runqueue_at(cpu)->curr = NOBODY;
	if (!lock || other == cpu || global_queue)
		return;
	for_range(i, 0, SLOTS) {
		u32 number = take_any(cpu);

		if (number == NOBODY)
			break;
		bpf_spin_lock(lock);
		link(rq, other, number, rq->active, true);
		bpf_spin_unlock(lock);
	}
	scx_bpf_kick_cpu(other, 0);
}

#endif
