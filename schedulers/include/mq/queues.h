/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mq, first: its lists. Each CPU has a list of the tasks that last ran there; the list for all CPUs,
 * which in goodness holds every task, holds the real-time tasks. All of them are under the one lock.
 */
#ifndef MQ_QUEUES_H
#define MQ_QUEUES_H

#include "../goodness/tasks.h"

/* Off-switches for experiments: all CPUs share one list; no task is taken from another CPU's list. */
const volatile bool global_queue = false;
const volatile bool steal = true;
/* And the 15 that 2.4 adds for the CPU that a task last ran on, which the patch drops in its lists. */
const volatile bool bonus = false;

/* The value of a slot's `queue` for a real-time task. */
#define REALTIME_QUEUE 0

/* In the cache line of the CPU's state, as cpu_rq() is. */
static __always_inline struct list *list_of_cpu(u32 cpu)
{
	return &cpu_at(cpu)->runqueue;
}

static __always_inline struct list *list_of(u32 number)
{
	u32 queue = slot_at(number)->queue;

	return queue == REALTIME_QUEUE ? &runqueue.list : list_of_cpu(queue - 1);
}

/* The queue of a CPU's list. */
static __always_inline u16 queue_of(u32 cpu)
{
	return global_queue ? 1 : cpu + 1;
}

/* add_to_runqueue(): at the beginning, except for a round-robin task whose turn is over. The lock is held. */
static __always_inline void add_to_runqueue(u32 number, u32 cpu)
{
	struct slot *s = slot_at(number);
	bool is_realtime = s->rt.policy;

	s->queue = is_realtime ? REALTIME_QUEUE : queue_of(cpu);
	link(number, s->leaving == TURN_OVER);
}

/* hop_queues(): to another CPU's list. The lock is held. */
static __always_inline void hop_queues(u32 number, u32 cpu)
{
	unlink(number);
	slot_at(number)->queue = queue_of(cpu);
	link(number, false);
}

#endif
