/* SPDX-License-Identifier: GPL-2.0-only */
/* goodness, second: what a task weighs, and the recalculation of all counters. */
#ifndef GOODNESS_WEIGHT_H
#define GOODNESS_WEIGHT_H

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
		return YIELDING_WEIGHT;
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

/* Recalculates every task's counter; without the lock, as in 2.4. */
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
