/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, twelfth: the idle CPUs, in the order in which they became idle, so that the CPU that has idled longest is found at once.
 */
#ifndef CFS_IDLE_LIST_H
#define CFS_IDLE_LIST_H

#include "masks.h"

/* How many CPUs that the task may not use are skipped. */
#define IDLE_LOOKS 64

static LOCK(idle_lock);
static u32 idle_first = NO_CPU;
static u32 idle_last = NO_CPU;
static u32 nr_idle;

static __always_inline void append_idle(u32 cpu)
{
	struct runqueue *rq = runqueue_at(cpu);

	bpf_spin_lock(&idle_lock.lock);
	if (!rq->is_listed) {
		rq->is_listed = true;
		rq->idle_next = NO_CPU;
		rq->idle_prev = idle_last;
		if (idle_last < NO_CPU)
			runqueue_at(idle_last)->idle_next = cpu;
		else
			idle_first = cpu;
		idle_last = cpu;
		nr_idle++;
	}
	bpf_spin_unlock(&idle_lock.lock);
}

static __always_inline void remove_idle(u32 cpu)
{
	struct runqueue *rq = runqueue_at(cpu);

	bpf_spin_lock(&idle_lock.lock);
	if (rq->is_listed) {
		rq->is_listed = false;
		if (rq->idle_prev < NO_CPU)
			runqueue_at(rq->idle_prev)->idle_next = rq->idle_next;
		else
			idle_first = rq->idle_next;
		if (rq->idle_next < NO_CPU)
			runqueue_at(rq->idle_next)->idle_prev = rq->idle_prev;
		else
			idle_last = rq->idle_prev;
		nr_idle--;
	}
	bpf_spin_unlock(&idle_lock.lock);
}

/* A new CPU: it is idle, and how long it usually idles is unknown. */
static __always_inline void begin_idle(u32 cpu)
{
	runqueue_at(cpu)->average_idle = 2 * migration_cost_ns;
	runqueue_at(cpu)->idle_since = scx_bpf_now();
	append_idle(cpu);
}

/* A CPU becomes idle or stops being idle; update_avg() of rq->avg_idle. */
static __always_inline void note_idle(u32 cpu, bool idle, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);
	s64 more;

	if (idle) {
		rq->idle_since = now;
		append_idle(cpu);
		return;
	}
	remove_idle(cpu);
	more = now - rq->idle_since - rq->average_idle;
	rq->average_idle += more >> 3;
	if (rq->average_idle > 2 * migration_cost_ns)
		rq->average_idle = 2 * migration_cost_ns;
}

/* Of the CPUs that a task may use, the one that has idled longest; NO_CPU if none idles. */
static __always_inline u32 longest_idle(u32 number)
{
	u32 cpu, found = NO_CPU;
	s32 i;

	if (!nr_idle)
		return NO_CPU;
	bpf_spin_lock(&idle_lock.lock);
	cpu = idle_first;
	for_range(i, 0, IDLE_LOOKS) {
		struct runqueue *rq = runqueue_at(cpu);

		if (cpu >= NO_CPU)
			break;
		/* Another task may be on its way there already. */
		if (!rq->nr_running && may_use(number, cpu)) {
			found = cpu;
			break;
		}
		cpu = rq->idle_next;
	}
	bpf_spin_unlock(&idle_lock.lock);
	return found;
}

#endif
