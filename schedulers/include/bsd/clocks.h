/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bsd, fourth: its clocks, all driven by the kernel's ticks. The running task is charged; every quantum each CPU gives another
 * task its turn; every second one CPU decays every task's recorded use, and requeues waiting tasks by their new priority.
 */
#ifndef BSD_CLOCKS_H
#define BSD_CLOCKS_H

#include "queues.h"

/* The last second that has begun. */
static u64 second_done LINE;

static __always_inline u32 second_of(u64 now)
{
	return now / SECOND_NS;
}

static __always_inline u64 stat_of(u64 now)
{
	return now / (SECOND_NS / STAT_HZ);
}

static __always_inline u64 quantum_of(u64 now)
{
	return now / (quantum_ns ? quantum_ns : 1);
}

/* sched_clock() */
static __always_inline void charge(struct slot *s, struct cpu *here, u64 now)
{
	u64 stat = stat_of(now);

	s->estcpu = limited(s->estcpu + (stat - here->stat));
	here->stat = stat;
	s->priority = user_priority(s);
	here->priority = s->priority;
}

/* Whether it is time to let other tasks run. */
static __always_inline bool quantum_ends(struct cpu *here, u64 now)
{
	u64 quantum = quantum_of(now);
	bool ends = quantum != here->quantum;

	here->quantum = quantum;
	return ends;
}

/* Restarts the clocks of a CPU that was idle. */
static __always_inline void set_clocks(struct cpu *here, u64 now)
{
	here->stat = stat_of(now);
	here->quantum = quantum_of(now);
}

static __always_inline u32 nr_runnable(void)
{
	u32 runnable = runq.nr_waiting;
	s32 i;

	for_range(i, 0, nr_cpus)
		if (cpu_at(i)->curr != NOBODY)
			runnable++;
	return runnable;
}

/* Every five seconds; while nothing ran there was no tick, and no load. */
static __always_inline void age_load(u64 from, u64 to)
{
	s32 times = to / LOAD_SECONDS - from / LOAD_SECONDS;
	s32 i;

	if (times <= 0)
		return;
	for_range(i, 1, MAX_DECAYS) {
		if (i >= times)
			break;
		renew_load(0);
	}
	renew_load(nr_runnable());
}

/* adjustrunqueue(): requeues a waiting task where it belongs. */
static __always_inline void adjust(u32 number)
{
	struct slot *s = slot_at(number);
	u8 priority = user_priority(s);

	/* The kernel's own priority is kept. */
	if (s->priority < REALTIME_FIRST)
		return;
	bpf_spin_lock(&sched_lock.lock);
	s->priority = priority;
	if (s->linked && s->queue != queue_of(priority)) {
		unlink(number);
		link(number);
	}
	bpf_spin_unlock(&sched_lock.lock);
}

/* schedcpu(): for all tasks that are not asleep; sleepers catch up when they wake. */
static __noinline u32 forget_all(u64 now)
{
	u32 end = slots_used;
	u32 second = second_of(now);
	s32 i;

	for_range(i, 1, end) {
		struct slot *s = slot_at(i);

		if (s->asleep)
			continue;
		forget(s, second);
		if (s->linked)
			adjust(i);
	}
	return 0;
}

static __always_inline void once_a_second(u64 now)
{
	u64 second = second_of(now), last = second_done;

	if (second <= last || __sync_val_compare_and_swap(&second_done, last, second) != last)
		return;
	age_load(last, second);
	forget_all(now);
}

#endif
