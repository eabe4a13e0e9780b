/* SPDX-License-Identifier: GPL-2.0-only */
/* goodness, second: what a task weighs, the list that it waits in, and everybody's time anew. */
#ifndef GOODNESS_LIST_H
#define GOODNESS_LIST_H

#include "types.h"

/* NICE_TO_TICKS() at HZ 100: 60 ms at nice 0, 10 ms at 19, 110 ms at -20. */
static __always_inline s32 ticks_of(s32 nice)
{
	return ((20 - nice) >> 2) + 1;
}

static __always_inline s32 goodness(struct slot *s, u32 cpu, u64 mm)
{
	s32 weight;

	if (s->weightless)
		return 0;
	if (s->rt.policy)
		return REALTIME_WEIGHT + s->rt.rt_priority;
	weight = s->counter;
	if (!weight)
		return 0;
	if (s->cpu == cpu)
		weight += PROC_CHANGE_PENALTY;
	if (s->mm == mm || !s->mm)
		weight += 1;
	return weight + 20 - s->nice;
}

static __always_inline bool may_use(u32 number, struct slot *s, u32 cpu)
{
	return s->everywhere || slot_allows(number, cpu);
}

static __always_inline void unlink(u32 number)
{
	struct slot *s = slot_at(number);

	if (s->prev)
		slot_at(s->prev)->next = s->next;
	else
		first = s->next;
	if (s->next)
		slot_at(s->next)->prev = s->prev;
	else
		last = s->prev;
	s->linked = false;
	nr_waiting--;
}

static __always_inline void link(u32 number, bool at_end)
{
	struct slot *s = slot_at(number);

	s->prev = at_end ? last : NOBODY;
	s->next = at_end ? NOBODY : first;
	if (s->prev)
		slot_at(s->prev)->next = number;
	else
		first = number;
	if (s->next)
		slot_at(s->next)->prev = number;
	else
		last = number;
	s->linked = true;
	nr_waiting++;
}

static __always_inline void unlink_if_linked(u32 number)
{
	if (number == NOBODY || !slot_at(number)->linked)
		return;
	bpf_spin_lock(&runqueue_lock.lock);
	if (slot_at(number)->linked)
		unlink(number);
	bpf_spin_unlock(&runqueue_lock.lock);
}

/* Every task's counter anew; without the lock, as there. */
static __noinline u32 recalculate(void)
{
	u32 end = slots_used;
	s32 i;

	for_range(i, 1, end) {
		struct slot *s = slot_at(i);

		s->counter = (s->counter >> 1) + ticks_of(s->nice);
	}
	return 0;
}

#endif
