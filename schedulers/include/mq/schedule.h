/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mq, second: schedule(). Real-time tasks first, then the CPU's own list,
 * and only if no task there has time left, the lists of all other CPUs.
 */
#ifndef MQ_SCHEDULE_H
#define MQ_SCHEDULE_H

#include "queues.h"

struct choice {
	u32 number;
	s32 weight;
};

/* A task's weight in a CPU's list: goodness(), but where it last ran no longer counts. */
static __always_inline s32 other_goodness(struct slot *s, u32 cpu, u64 mm)
{
	s32 weight = s->counter;

	if (!weight)
		return 0;
	if (bonus && s->cpu == cpu)
		weight += PROC_CHANGE_PENALTY;
	if (s->mm == mm || !s->mm)
		weight += 1;
	return weight + 20 - s->nice;
}

/* can_schedule(), and it does not yield. */
static __always_inline bool can_schedule(u32 number, struct slot *s, u32 cpu)
{
	return !s->runs_on && may_use(number, cpu) && !s->weightless;
}

/* The task that was on this CPU: plain goodness(). It continues unless another task weighs more. */
static __always_inline struct choice still_running(u32 prev, u32 cpu, u64 mm)
{
	struct choice best = { NOBODY, NO_WEIGHT };

	if (prev != NOBODY) {
		best.number = prev;
		best.weight = goodness(slot_at(prev), cpu, mm);
	}
	return best;
}

/* The best of `best` and the real-time tasks; among equals the first, after `best` unless that `gives_way`. */
static __always_inline struct choice best_realtime(struct choice best, bool gives_way, u32 cpu)
{
	u32 number = runqueue.list.first;
	s32 i;

	if (number == NOBODY)
		return best;
	for_range(i, 0, SLOTS) {
		struct slot *s = slot_at(number);
		s32 weight = REALTIME_WEIGHT + s->rt.rt_priority;

		if (number == NOBODY)
			break;
		if (can_schedule(number, s, cpu) && (weight > best.weight || (gives_way && weight == best.weight))) {
			best.weight = weight;
			best.number = number;
			gives_way = false;
		}
		number = s->next;
	}
	return best;
}

/* The best of `best` and the tasks in CPU `of`'s list that `cpu` may take. */
static __always_inline struct choice best_in_list(struct choice best, u32 of, u32 cpu, u64 mm)
{
	u32 number = list_of_cpu(of)->first;
	s32 i;

	/* A loop in BPF costs calls; walking an empty list in the kernel cost nothing. */
	if (number == NOBODY)
		return best;
	for_range(i, 0, SLOTS) {
		struct slot *s = slot_at(number);

		if (number == NOBODY)
			break;
		if (can_schedule(number, s, cpu)) {
			s32 weight = other_goodness(s, cpu, mm);

			if (weight > best.weight) {
				best.weight = weight;
				best.number = number;
			}
		}
		number = s->next;
	}
	return best;
}

/* Stealing: the best of `best` and the tasks in all other CPUs' lists. */
static __always_inline struct choice best_elsewhere(struct choice best, u32 cpu, u64 mm)
{
	s32 other;

	for_range(other, 0, nr_cpus)
		if (other != cpu)
			best = best_in_list(best, other, cpu, mm);
	return best;
}

/* The task that `cpu` runs next, and its weight: 0 if no task that it may take has time left. */
static __always_inline struct choice best_of_all(u32 prev, u32 cpu, u64 mm)
{
	bool gives_way = slot_at(prev)->leaving == TURN_OVER;
	struct choice best = still_running(prev, cpu, mm);

	best = best_realtime(best, gives_way, cpu);
	if (best.weight >= REALTIME_WEIGHT)
		return best;
	best = best_in_list(best, global_queue ? 0 : cpu, cpu, mm);
	if (best.weight > 0 || global_queue || !steal)
		return best;
	return best_elsewhere(best, cpu, mm);
}

/* It runs on `cpu` now, and is pulled into its list if it was stolen. The lock is held. */
static __always_inline void take(u32 number, u32 cpu)
{
	struct slot *s = slot_at(number);

	s->runs_on = cpu + 1;
	if (s->queue != REALTIME_QUEUE && s->queue != queue_of(cpu))
		hop_queues(number, cpu);
}

static __always_inline u32 choose(u32 cpu, u32 prev, u32 gone)
{
	struct cpu *here = cpu_at(cpu);
	struct choice best;

	bpf_spin_lock(&runqueue_lock.lock);
	leave_list(gone);
	best = best_of_all(prev, cpu, here->mm);
	if (best.weight == 0) {
		bpf_spin_unlock(&runqueue_lock.lock);
		recalculations[cpu & (MAX_CPUS - 1)].times++;
		recalculate();
		bpf_spin_lock(&runqueue_lock.lock);
		best = best_of_all(prev, cpu, here->mm);
	}
	if (best.number != NOBODY && best.number != prev)
		take(best.number, cpu);
	slot_at(prev)->weightless = false;
	here->curr = best.number;
	bpf_spin_unlock(&runqueue_lock.lock);
	return best.number;
}

#endif
