/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ule, fourth: choosing a CPU. A child goes to the least loaded one. As posted, the search began with a load
 * below zero, which no CPU has, so every child went to the first CPU; and there was no other balancing. The
 * missing parts: a CPU without work steals, and is notified of tasks that wait elsewhere; and twice a second
 * tasks move from the most to the least loaded CPU. All other tasks stay where they are, for their caches' sake.
 */
#ifndef ULE_BALANCE_H
#define ULE_BALANCE_H

#include "queues.h"

/* How often a busy CPU checks for tasks that wait at CPUs that run nothing. */
#define LOOK_NS (10 * MSEC_NS)

static __always_inline bool steals(void)
{
	return steal && !posted;
}

static __always_inline bool pushes(void)
{
	return push && !posted;
}

/* The least loaded CPU that the task may use; `here` if none has less load. */
static __always_inline u32 least_loaded(u32 number, u32 here)
{
	u32 least = ~0U, found = here;
	s32 i;

	for_range(i, 0, nr_cpus) {
		u32 cpu = (here + i) % nr_cpus;
		u32 load = load_of(cpu);

		if (load >= least || runqueue_at(cpu)->offline || !may_use(number, cpu))
			continue;
		least = load;
		found = cpu;
		if (!load)
			break;
	}
	return found;
}

/* The first CPU that the task may use; `here` if there is none. */
static __always_inline u32 first_cpu(u32 number, u32 here)
{
	s32 i;

	for_range(i, 0, nr_cpus)
		if (!runqueue_at(i)->offline && may_use(number, i))
			return i;
	return here;
}

/* The CPU on which a child begins. */
static __always_inline u32 cpu_for_child(u32 number, u32 here)
{
	return place && !posted ? least_loaded(number, here) : first_cpu(number, here);
}

static __always_inline u32 movable_in(struct queue *queue, u32 cpu)
{
	return find_movable(queue->lists, queue->levels, cpu);
}

/* The task that would wait longest there: the next queue's first. It belongs in the current queue here. */
static __noinline u32 take_from(u32 victim, u32 cpu)
{
	struct runqueue *rq = runqueue_at(victim);
	struct bpf_spin_lock *lock = lock_of(victim);
	u32 next, number;

	if (!lock)
		return NOBODY;
	bpf_spin_lock(lock);
	next = (rq->current & 1) ^ 1;
	number = movable_in(queue_at(rq, next), cpu);
	if (number == NOBODY)
		number = movable_in(queue_at(rq, next ^ 1), cpu);
	if (number == NOBODY)
		number = movable_in(queue_at(rq, IDLE_QUEUE), cpu);
	if (number != NOBODY) {
		unlink(rq, number);
		if (!slot_at(number)->is_idle)
			slot_at(number)->queue = runqueue_at(cpu)->current & 1;
	}
	bpf_spin_unlock(lock);
	return number;
}

/* Finds a task for a CPU that has none. */
static __always_inline u32 steal_one(u32 cpu)
{
	return steals() ? take_from_any(cpu) : NOBODY;
}

/* A task that may use these CPUs waits: notifies one of them that is idle, if any. */
static __always_inline void tell_idle(const struct cpumask *cpus)
{
	s32 idle;

	if (!steals())
		return;
	idle = scx_bpf_pick_idle_cpu(cpus, 0);
	if (idle >= 0)
		kick(idle, SCX_KICK_IDLE);
}

/* Whether the task that runs at a CPU must give way to one that was put into `queue` there. */
static __always_inline bool gives_way(struct runqueue *there, struct slot *s)
{
	if (there->curr == NOBODY || s->is_idle)
		return false;
	if (there->curr_level == IDLE_LEVEL)
		return true;
	return s->queue == (there->current & 1) && s->level < there->curr_level;
}

static __noinline bool move_one(u32 from, u32 to)
{
	struct runqueue *there = runqueue_at(to);
	struct bpf_spin_lock *lock = lock_of(to);
	u32 number = lock ? take_from(from, to) : NOBODY;
	struct slot *s = slot_at(number);
	u64 now = scx_bpf_now();
	bool stops;

	if (number == NOBODY || !lock)
		return false;
	bpf_spin_lock(lock);
	link(to, number, queue_for(there, s, now), true, now);
	stops = gives_way(there, s);
	bpf_spin_unlock(lock);
	scx_bpf_kick_cpu(to, stops ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
	return true;
}

/* The CPUs with the least and the most load. */
struct extremes {
	u32 least;
	u32 least_load;
	u32 most;
	u32 most_load;
};

static __always_inline struct extremes extremes_of(u32 cpu)
{
	u32 load = load_of(cpu);
	struct extremes found = { cpu, load, cpu, load };
	s32 i;

	for_range(i, 1, nr_cpus) {
		u32 other = (cpu + i) % nr_cpus;

		load = load_of(other);
		if (load > found.most_load) {
			found.most = other;
			found.most_load = load;
		}
		if (load < found.least_load && !runqueue_at(other)->offline) {
			found.least = other;
			found.least_load = load;
		}
	}
	return found;
}

/* Half the difference moves from the most to the least loaded CPU: on whichever CPU's tick finds first that it is time. */
static __always_inline void push_when_due(u32 cpu, u64 now)
{
	u64 due = next_push;
	struct extremes found;
	s32 i;

	if (!pushes() || now < due)
		return;
	if (__sync_val_compare_and_swap(&next_push, due, now + push_ns) != due)
		return;
	found = extremes_of(cpu);
	for_range(i, 0, MAX_MOVED) {
		if (i >= (found.most_load - found.least_load) / 2)
			break;
		if (!move_one(found.most, found.least))
			break;
	}
}

/* At a busy CPU's tick. */
static __always_inline void balance_tick(struct task_struct *p, u32 cpu, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);

	push_when_due(cpu, now);
	if (now < rq->next_look)
		return;
	rq->next_look = now + LOOK_NS;
	/* Regardless of settings: no other CPU would run them. */
	take_in(cpu, now, LOOK_NS);
	/* A CPU that was about to idle when a task was queued here has not been notified. */
	if (rq->nr_waiting)
		tell_idle(p->cpus_ptr);
}

#endif
