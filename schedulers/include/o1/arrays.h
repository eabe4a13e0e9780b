/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1, third: the two priority arrays of a runqueue. Everything here takes a few loads and stores,
 * however many tasks wait; the runqueue's lock is held.
 */
#ifndef O1_ARRAYS_H
#define O1_ARRAYS_H

#include "load.h"

static __always_inline struct array *array_at(struct runqueue *rq, u32 number)
{
	return &rq->arrays[number & 1];
}

/* Takes a task off the runqueue that it waits at. */
static __always_inline void unlink(struct runqueue *rq, u32 number)
{
	struct slot *s = slot_at(number);
	struct array *array = array_at(rq, s->in_array);
	u32 level = s->in_level & (LEVELS - 1);
	struct list *list = &array->lists[level];

	unlink_from(list, s);
	if (!list->first)
		array->bitmap &= ~(1ULL << level);
	rq->nr_waiting--;
	count_waiting(rq - runqueues, rq->nr_waiting);
	rq->nr_batch -= level == BATCH_LEVEL;
	s->where = NOWHERE;
}

/*
 * It is in its place: how it left its CPU no longer matters. Once its queue's
 * lock is released, others may take the task and record where it came from then.
 */
static __always_inline void settle(struct slot *s)
{
	s->behind = false;
	s->goes_last = false;
	s->expired = false;
}

/*
 * Puts a task that waits nowhere into one of the arrays. The balancer may be moving a task
 * while the kernel queues it again elsewhere: the first to record where it waits links it.
 */
static __always_inline bool link(struct runqueue *rq, u32 queue, u32 number, u32 which, bool at_end)
{
	struct slot *s = slot_at(number);
	struct array *array = array_at(rq, which);
	u32 level = s->level & (LEVELS - 1);

	if (__sync_val_compare_and_swap(&s->where, NOWHERE, IN_RUNQUEUE + queue) != NOWHERE)
		return false;
	s->array = which & 1;
	s->in_array = which & 1;
	s->in_level = level;
	link_into(&array->lists[level], number, at_end);
	array->bitmap |= 1ULL << level;
	rq->nr_waiting++;
	count_waiting(queue, rq->nr_waiting);
	rq->nr_batch += level == BATCH_LEVEL;
	settle(s);
	return true;
}

/*
 * Looks at every task that waits at any runqueue, as the previous scheduler did for
 * each choice. With one_lock or global_queue: the lock that is held covers all of them.
 */
static __always_inline void look_at_all(u32 cpu)
{
	u32 queue = 0, which = 0, number = NOBODY, ready = 0;
	u64 levels = 0;
	s32 i;

	for_range(i, 0, SLOTS) {
		struct slot *s;

		if (number == NOBODY && !levels) {
			struct runqueue *rq = runqueue_at(queue);

			if (queue >= (global_queue ? 1 : nr_cpus))
				break;
			levels = rq->nr_waiting ? array_at(rq, which)->bitmap : 0;
			queue += which || !rq->nr_waiting;
			which = rq->nr_waiting ? which ^ 1 : 0;
			continue;
		}
		if (number == NOBODY) {
			/* The previous array: `which` is already the next one's. */
			struct runqueue *rq = runqueue_at(which ? queue : queue - 1);

			number = array_at(rq, which ^ 1)->lists[__builtin_ctzll(levels) & (LEVELS - 1)].first;
			levels &= levels - 1;
		}
		s = slot_at(number);
		ready += s->left_ns > 0;
		number = s->next;
	}
	scanned[cpu & (MAX_CPUS - 1)].times += ready;
}

/*
 * Which task is next: the first of the best level of the active array, or `before`, which has been running and
 * would continue (NOBODY: it would not). If the active array is used up, `before` included, the two are exchanged.
 */
static __always_inline u32 pick(struct runqueue *rq, u32 cpu, u32 before)
{
	struct slot *s = slot_at(before);
	u32 active = rq->active & 1;
	bool before_is_active = before && s->array == active;
	u64 bitmap = array_at(rq, active)->bitmap;
	u32 number, level;

	if (scan)
		look_at_all(cpu);
	if (!bitmap && !before_is_active) {
		active ^= 1;
		bitmap = array_at(rq, active)->bitmap;
		if (!bitmap && !before)
			return NOBODY;
		rq->active = active;
		array_switches[cpu & (MAX_CPUS - 1)].times++;
		before_is_active = before;
	}
	if (!bitmap)
		return before;
	level = __builtin_ctzll(bitmap) & (LEVELS - 1);
	if (before_is_active && (s->level < level || (s->level == level && !s->behind)))
		return before;
	number = array_at(rq, active)->lists[level].first;
	unlink(rq, number);
	return number;
}

#endif
