/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1, fifth: the balancer. Everything else deals with a single runqueue; for a different balancer
 * (nodes, caches), replace this file and keep its two entry points, balance_idle() and balance_tick().
 *
 * Tasks stay where they are until a CPU has nothing to do: then it takes one from the CPU that has most. Idle CPUs don't
 * tick, so each busy one checks at every tick interval whether one idles while a task waits here, and notifies it. Rarely,
 * a busy CPU takes half the difference from one that has clearly more. Expired tasks go first: they are cache-cold.
 */
#ifndef O1_BALANCE_H
#define O1_BALANCE_H

#include "realtime.h"

static __always_inline u32 movable_in(struct array *array, u32 cpu)
{
	return find_movable(array->lists, array->bitmap, cpu);
}

#ifdef CROWD
/* A CPU that comes after as many others as there are tasks waiting would wait for the lock in vain. */
static __always_inline bool may_take(struct runqueue *rq)
{
	if (rq->nr_thieves >= rq->nr_waiting)
		return false;
	if (__sync_fetch_and_add(&rq->nr_thieves, 1) < rq->nr_waiting)
		return true;
	__sync_fetch_and_sub(&rq->nr_thieves, 1);
	return false;
}

static __always_inline void has_taken(struct runqueue *rq)
{
	__sync_fetch_and_sub(&rq->nr_thieves, 1);
}
#else
static __always_inline bool may_take(struct runqueue *rq)
{
	return true;
}

static __always_inline void has_taken(struct runqueue *rq)
{
}
#endif

/* Expired tasks go first: they are cache-cold. */
static __noinline u32 take_from(u32 victim, u32 cpu)
{
	struct runqueue *rq = runqueue_at(victim);
	struct bpf_spin_lock *lock = lock_at(victim);
	u32 expired, number;

	if (!lock || !may_take(rq))
		return NOBODY;
	bpf_spin_lock(lock);
	expired = (rq->active & 1) ^ 1;
	number = movable_in(array_at(rq, expired), cpu);
	if (number == NOBODY)
		number = movable_in(array_at(rq, expired ^ 1), cpu);
	if (number != NOBODY) {
		slot_at(number)->expired = slot_at(number)->in_array == expired;
		unlink(rq, number);
	}
	bpf_spin_unlock(lock);
	has_taken(rq);
	return number;
}

/* Finds a task for a CPU that has none. */
static __always_inline u32 balance_idle(u32 cpu)
{
	return balance && !global_queue ? take_from_any(cpu) : NOBODY;
}

/* Notifies idle CPUs to look for work: as many as there are tasks waiting here. */
static __always_inline void tell_idle(u32 cpu, u32 nr_waiting)
{
	u32 told = 0;
	s32 i;

	for_range(i, 1, nr_cpus) {
		u32 other = (cpu + i) % nr_cpus;

		if (told >= nr_waiting)
			break;
		if (runqueue_at(other)->curr != NOBODY || runqueue_at(other)->offline)
			continue;
		kick(other, SCX_KICK_IDLE);
		told++;
	}
}

/* Moves it into the arrays of `cpu`. */
static __noinline bool move_one(u32 victim, u32 cpu)
{
	struct runqueue *rq = runqueue_at(cpu);
	struct bpf_spin_lock *lock = lock_at(cpu);
	u32 number = lock ? take_from(victim, cpu) : NOBODY;
	u32 active;

	if (number == NOBODY || !lock)
		return false;
	bpf_spin_lock(lock);
	active = rq->active & 1;
	link(rq, cpu, number, slot_at(number)->expired ? active ^ 1 : active, true);
	bpf_spin_unlock(lock);
	if (!rq->curr_realtime && slot_at(number)->level < rq->curr_level)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return true;
}

/* Takes half of the busiest CPU's excess; false if no task that should move can move now. */
static __always_inline bool pull_half(u32 cpu)
{
	u32 victim = busiest(cpu);
	u32 theirs = runqueue_at(victim)->nr_waiting, ours = runqueue_at(cpu)->nr_waiting;
	s32 i;

	if (victim == cpu || theirs < ours + 2)
		return true;
	for_range(i, 0, MAX_MOVED) {
		if (i >= (theirs - ours) / 2)
			break;
		if (!move_one(victim, cpu))
			return i > 0;
	}
	return true;
}

/* At a busy CPU's tick. */
static __always_inline void balance_tick(u32 cpu, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);

	if (!balance || global_queue || now < rq->next_push)
		return;
	rq->next_push = now + idle_balance_ns;
	take_in(cpu, now, idle_balance_ns);
	if (rq->nr_waiting)
		tell_idle(cpu, rq->nr_waiting);
	if (now < rq->next_pull)
		return;
	/* A task that can't move now may be running there: so try again at a different point of their turns. */
	rq->next_pull = now + (pull_half(cpu) ? busy_balance_ns : busy_balance_ns / 8);
}

#endif
