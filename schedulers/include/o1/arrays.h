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
	rq->nr_batch -= level == BATCH_LEVEL;
	s->where = NOWHERE;
}

/*
 * Puts a task that waits nowhere into one of the arrays. The balancer may have one in its hands
 * while the kernel queues it again elsewhere: whoever says first where it waits links it.
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
	rq->nr_batch += level == BATCH_LEVEL;
	return true;
}

/*
 * Who is next: the first of the best level of the active array, or `before`, who has run until now and would go
 * on (NOBODY: it would not). Where the active array is used up, `before` included, the two are exchanged.
 */
static __always_inline u32 pick(struct runqueue *rq, u32 cpu, u32 before)
{
	struct slot *s = slot_at(before);
	u32 active = rq->active & 1;
	bool before_is_active = before && s->array == active;
	u64 bitmap = array_at(rq, active)->bitmap;
	u32 number, level;

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
