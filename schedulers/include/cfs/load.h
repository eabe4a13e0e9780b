/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, second: weights and averages. A nice level is a factor of 1.25 in weight. How much of the past a task was
 * runnable is an average in which a period of 1024 us counts half as much as one 32 periods later.
 */
#ifndef CFS_LOAD_H
#define CFS_LOAD_H

#include "types.h"

#define NICE_LEVELS 40
#define NICE_0_LEVEL 20
#define IDLE_WEIGHT 3

#define SCHED_BATCH_POLICY 3
#define SCHED_IDLE_POLICY 5

#define PERIOD_NS (1024 * 1024)
#define HALF_LIFE 32
/* A full average; and the factor by which one decays in a period, 0.5 to the power of 1/32, in 2^-32. */
#define WHOLE_SHIFT 16
#define WHOLE (1U << WHOLE_SHIFT)
#define KEPT_IN_A_PERIOD 4202935003ULL

static u32 nice_weights[64];
static u64 kept_parts[HALF_LIFE];

/* For init. */
static __always_inline void make_tables(void)
{
	u64 weight = NICE_0_LOAD, lesser = NICE_0_LOAD, kept = 1ULL << 32;
	s32 i;

	nice_weights[NICE_0_LEVEL] = NICE_0_WEIGHT;
	for_range(i, 1, NICE_LEVELS) {
		weight = weight * 5 / 4;
		lesser = lesser * 4 / 5;
		if (i <= NICE_0_LEVEL)
			nice_weights[(NICE_0_LEVEL - i) & 63] = (weight + (1 << WEIGHT_SHIFT) / 2) >> WEIGHT_SHIFT;
		if (i < NICE_LEVELS - NICE_0_LEVEL)
			nice_weights[(NICE_0_LEVEL + i) & 63] = (lesser + (1 << WEIGHT_SHIFT) / 2) >> WEIGHT_SHIFT;
	}
	for_range(i, 0, HALF_LIFE) {
		kept_parts[i & (HALF_LIFE - 1)] = kept;
		kept = kept * KEPT_IN_A_PERIOD >> 32;
	}
}

/* Decays `value` by this many periods; decay_load(). */
static __always_inline u64 kept_of(u64 value, u64 periods)
{
	u64 halvings = periods / HALF_LIFE;

	if (halvings > 31)
		return 0;
	return (value >> halvings) * kept_parts[periods & (HALF_LIFE - 1)] >> 32;
}

/* Brings the average up to date: since the last update the task was runnable, or it was not. */
static __always_inline void update_average(struct slot *s, u64 now, bool runnable)
{
	u64 periods;

	if (now < s->averaged_at + PERIOD_NS)
		return;
	periods = (now - s->averaged_at) / PERIOD_NS;
	s->averaged_at += periods * PERIOD_NS;
	if (runnable)
		s->average = WHOLE - kept_of(WHOLE - s->average, periods);
	else
		s->average = kept_of(s->average, periods);
}

/* The weight for a nice value and policy. */
static __always_inline void copy_policy(struct slot *s, const struct task_struct *p)
{
	s->is_idle = p->policy == SCHED_IDLE_POLICY;
	s->is_batch = s->is_idle || p->policy == SCHED_BATCH_POLICY;
	s->weight = s->is_idle ? IDLE_WEIGHT : nice_weights[(u32)(nice_of(p) + NICE_0_LEVEL) & 63];
	if (!s->weight)
		s->weight = NICE_0_WEIGHT;
}

#endif
