/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ule, third: a CPU's queues. The current one is served until it is empty; then it and the next one are exchanged.
 * An interactive task goes into the current one, any other into the next: so each of those gets one slice per
 * round. Everything here takes a few loads and stores, however many tasks wait; the runqueue's lock is held.
 */
#ifndef ULE_QUEUES_H
#define ULE_QUEUES_H

#include "score.h"

static __always_inline struct queue *queue_at(struct runqueue *rq, u32 which)
{
	return &rq->queues[which < QUEUES ? which : IDLE_QUEUE];
}

/*
 * Has this round taken too long? Enough tasks that mostly sleep keep the current
 * queue busy forever; then they, too, wait for the next one, and the round ends.
 */
static __always_inline bool is_overdue(struct runqueue *rq, u64 now)
{
	if (!patience || posted || !rq->nr_waiting)
		return false;
	return now - rq->round_since > patience_ns * (rq->nr_hogs + 2);
}

/* Which queue a task belongs in when its turn begins. */
static __always_inline u32 queue_for(struct runqueue *rq, struct slot *s, u64 now)
{
	u32 current = rq->current & 1;

	if (s->is_idle)
		return IDLE_QUEUE;
	return s->interactive && !is_overdue(rq, now) ? current : current ^ 1;
}

/* Takes a task off the runqueue that it waits at. */
static __always_inline void unlink(struct runqueue *rq, u32 number)
{
	struct slot *s = slot_at(number);
	struct queue *queue = queue_at(rq, s->in_queue);
	u32 level = s->in_level & (LEVELS - 1);
	struct list *list = &queue->lists[level];

	unlink_from(list, s);
	if (!list->first)
		queue->levels &= ~(1ULL << level);
	rq->nr_waiting--;
	rq->nr_hogs -= s->as_hog;
	rq->nr_idle -= s->in_queue == IDLE_QUEUE;
	s->where = NOWHERE;
}

/*
 * Puts a task that waits nowhere into a queue. A CPU that is stealing a task may hold it
 * while the kernel queues it again elsewhere: the first to record where it waits links it.
 */
static __always_inline bool link(u32 cpu, u32 number, u32 which, bool at_end, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);
	struct slot *s = slot_at(number);
	struct queue *queue = queue_at(rq, which);
	u32 level = s->level & (LEVELS - 1);

	if (__sync_val_compare_and_swap(&s->where, NOWHERE, IN_RUNQUEUE + cpu) != NOWHERE)
		return false;
	s->queue = which;
	s->in_queue = which;
	s->in_level = level;
	s->as_hog = !s->interactive;
	link_into(&queue->lists[level], number, at_end);
	queue->levels |= 1ULL << level;
	if (!rq->nr_waiting++)
		rq->round_since = now;
	rq->nr_hogs += s->as_hog;
	if (which == IDLE_QUEUE && !rq->nr_idle++)
		rq->idle_due = now + idle_ns;
	/* How it came here no longer matters; once the lock is released, others may take it. */
	s->is_new = false;
	s->keeps_queue = false;
	s->is_over = false;
	return true;
}

/* Exchanges current and next. */
static __always_inline void exchange(struct runqueue *rq, u32 cpu, u64 now)
{
	rq->current ^= 1;
	rq->round_since = now;
	queue_switches[cpu & (MAX_CPUS - 1)].times++;
}

/* Which queue's turn it is: the current, the next or the idle one's. QUEUES if no task wants the CPU. */
static __always_inline u32 serve(struct runqueue *rq, u32 cpu, u32 before, u64 now)
{
	u32 current = rq->current & 1;
	u32 queue_of_before = before ? slot_at(before)->queue : QUEUES;
	u64 idle = rq->queues[IDLE_QUEUE].levels;

	if (idle && now >= rq->idle_due) {
		rq->idle_due = now + idle_ns / rq->nr_idle;
		return IDLE_QUEUE;
	}
	if (rq->queues[current].levels || queue_of_before == current)
		return current;
	current ^= 1;
	if (rq->queues[current].levels || queue_of_before == current) {
		exchange(rq, cpu, now);
		return current;
	}
	return idle || queue_of_before == IDLE_QUEUE ? IDLE_QUEUE : QUEUES;
}

/*
 * Which task is next: the first of the best level, or `before`, which has been
 * running and would continue (NOBODY: it would not); NOBODY if there is no such task.
 */
static __always_inline u32 pick(struct runqueue *rq, u32 cpu, u32 before, u64 now)
{
	struct slot *s = slot_at(before);
	u32 which = serve(rq, cpu, before, now);
	u32 number, level;
	u64 levels;

	if (which >= QUEUES)
		return NOBODY;
	levels = queue_at(rq, which)->levels;
	if (!levels)
		return before;
	level = __builtin_ctzll(levels) & (LEVELS - 1);
	if (before && s->queue == which && (s->level < level || (s->level == level && !s->is_over)))
		return before;
	number = queue_at(rq, which)->lists[level].first;
	unlink(rq, number);
	return number;
}

#endif
