/* SPDX-License-Identifier: GPL-2.0-only */
/* bsd, third: the queues, and the two decisions: which task runs next, and which one it preempts. */
#ifndef BSD_QUEUES_H
#define BSD_QUEUES_H

#include "priority.h"

static __always_inline u32 queue_of(u32 priority)
{
	return priority / PRIORITIES_PER_QUEUE % QUEUES;
}

/* runq_remove(); the lock is held. */
static __always_inline void unlink(u32 number)
{
	struct slot *s = slot_at(number);
	struct list *list = &runq.queues[s->queue % QUEUES];

	unlink_from(list, s);
	if (!list->first)
		runq.bitmap &= ~(1ULL << (s->queue % QUEUES));
	s->linked = false;
	runq.nr_waiting--;
}

/* runq_add(): to the end of its queue; the lock is held. */
static __always_inline void link(u32 number)
{
	struct slot *s = slot_at(number);
	u32 queue = queue_of(s->priority);

	s->queue = queue;
	link_into(&runq.queues[queue], number, true);
	runq.bitmap |= 1ULL << queue;
	s->linked = true;
	runq.nr_waiting++;
}

static __always_inline void unlink_if_linked(u32 number)
{
	if (number == NOBODY || !slot_at(number)->linked)
		return;
	bpf_spin_lock(&sched_lock.lock);
	if (slot_at(number)->linked)
		unlink(number);
	bpf_spin_unlock(&sched_lock.lock);
}

/* The first task that `cpu` may take, from the best queue that has one; NOBODY if there is none. */
static __always_inline u32 find(u32 cpu)
{
	u64 left = runq.bitmap;
	u32 number = NOBODY;
	s32 i;

	for_range(i, 0, SLOTS) {
		struct slot *s;

		if (number == NOBODY) {
			if (!left)
				break;
			number = runq.queues[__builtin_ctzll(left) % QUEUES].first;
			left &= left - 1;
		}
		s = slot_at(number);
		if (may_use(number, cpu))
			return number;
		number = s->next;
	}
	return NOBODY;
}

/* Whether `before`, which would wait behind its equals, keeps running even though `number` waits. */
static __always_inline bool goes_on(u32 before, u32 number)
{
	u32 own = queue_of(slot_at(before)->priority);

	if (before == NOBODY)
		return false;
	if (number == NOBODY || own < slot_at(number)->queue)
		return true;
	return own == slot_at(number)->queue && slot_at(before)->rt.policy == HINT_FIFO;
}

/* choosethread(): the task that `cpu` runs next. */
static __always_inline u32 choose(u32 cpu, u32 before)
{
	struct cpu *here = cpu_at(cpu);
	u32 number;

	bpf_spin_lock(&sched_lock.lock);
	number = find(cpu);
	if (goes_on(before, number))
		number = before;
	else if (number != NOBODY)
		unlink(number);
	here->curr = number;
	here->notified = false;
	bpf_spin_unlock(&sched_lock.lock);
	return number;
}

/* Claims this CPU if it is idle and was not notified yet. */
static __always_inline bool take_idle(u32 number, u32 cpu)
{
	struct cpu *there = cpu_at(cpu);

	if (there->curr != NOBODY || there->notified || there->offline || !may_use(number, cpu))
		return false;
	there->notified = true;
	return true;
}

/*
 * An idle CPU for a task: in FreeBSD all idle CPUs poll the queues. The CPU that the task
 * is counted at comes first, since the kernel notifies that one anyway. The lock is held.
 */
static __always_inline s32 idle_cpu_for(u32 number, u32 counted_at)
{
	s32 i;

	if (take_idle(number, counted_at))
		return counted_at;
	for_range(i, 0, nr_cpus)
		if (take_idle(number, i))
			return i;
	return -1;
}

/* maybe_resched(): whether this CPU, and no other, must preempt what it runs in favour of a task. */
static __always_inline bool must_stop(u32 number, u32 cpu)
{
	struct slot *s = slot_at(number);
	struct cpu *here = cpu_at(cpu);

	return here->curr != NOBODY && s->priority < here->priority && may_use(number, cpu);
}

#endif
