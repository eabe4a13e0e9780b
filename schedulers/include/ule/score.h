/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ule, second: how a task's sleeping and running become its score, its level and its slice.
 *
 * As posted, sleep is saved up and running spends it: a task that repeatedly sleeps a tick longer than it runs ends
 * up with the best score, and may then run for long. The ratio of the two over a bounded past keeps it where it is.
 */
#ifndef ULE_SCORE_H
#define ULE_SCORE_H

#include "types.h"

/* Scores are 0, the best, to 100; below this a task is interactive. */
#define WORST_SCORE 100
#define MIDDLE_SCORE 50
#define INTERACTIVE_SCORE 30

/* How many levels the score makes up; the nice value makes up the rest, one level for two nice values. */
#define SCORE_LEVELS 44

/* History is kept in units of 1024 ns. */
#define UNIT_SHIFT 10

/* sys/kern/sched_ule.c of January 2003, in ticks of its hz, 100. */
#define POSTED_TICK_NS (10 * MSEC_NS)
#define POSTED_WINDOW_TICKS 200	/* SCHED_SLP_MAX */
#define POSTED_CURRENT_TICKS 25	/* SCHED_CURR: with more sleep than this a task goes to the current queue */
#define POSTED_SLICE_TICKS 10	/* SCHED_SLICE_MAX; SCHED_SLICE_MIN is 1 */
#define POSTED_LEVELS 24	/* SCHED_PRI_RANGE: levels that sleep makes up */
#define POSTED_FIRST_LEVEL 20	/* half of SCHED_PRI_NRESV: levels that nice values alone reach */

static __always_inline bool goes_by_ratio(void)
{
	return ratio && !posted;
}

static __always_inline u32 units_of(u64 ns)
{
	return ns >> UNIT_SHIFT;
}

/* How much is remembered. */
static __always_inline u64 remembered_ns(void)
{
	return posted ? POSTED_WINDOW_TICKS * POSTED_TICK_NS : window_ns;
}

/* As posted: the saved-up sleep, in ticks. */
static __always_inline u32 slept_ticks(struct slot *s)
{
	return ((u64)s->slept << UNIT_SHIFT) / POSTED_TICK_NS;
}

/* At most as much of it as the window holds. */
static __always_inline u32 bounded_units(u64 ns)
{
	u64 most = remembered_ns();

	return units_of(ns < most ? ns : most);
}

/* Scales both down together, so that they add up to this and keep their ratio. */
static __always_inline void scale_to(struct slot *s, u64 units)
{
	u64 sum = (u64)s->slept + s->ran;

	if (sum <= units)
		return;
	s->slept = s->slept * units / sum;
	s->ran = s->ran * units / sum;
}

/* Beyond the window a fifth is forgotten, so that the ratio follows what the task does now. */
static __always_inline void forget(struct slot *s)
{
	u64 window = units_of(window_ns);

	if ((u64)s->slept + s->ran > window)
		scale_to(s, window * 4 / 5);
}

static __always_inline void add_sleep(struct slot *s, u64 ns)
{
	u32 units = bounded_units(ns);
	u32 most = units_of(remembered_ns());

	s->slept += units;
	if (goes_by_ratio())
		forget(s);
	else if (s->slept > most)
		s->slept = most;
}

static __always_inline void add_run(struct slot *s, u64 ns)
{
	u32 units = bounded_units(ns);

	if (goes_by_ratio()) {
		s->ran += units;
		forget(s);
		return;
	}
	s->slept -= s->slept < units ? s->slept : units;
}

/* A child's history is its parent's; by the ratio only a little of it, since the child's own behaviour is not known yet. */
static __always_inline void inherit(struct slot *s, struct slot *parent)
{
	s->slept = parent->slept;
	s->ran = parent->ran;
	/* sched_fork(): and what is left of its slice. */
	if (posted)
		s->left_ns = parent->left_ns;
	if (goes_by_ratio())
		scale_to(s, units_of(inherited_ns));
}

static __always_inline u32 score_of(struct slot *s)
{
	u64 slept = s->slept, ran = s->ran;

	if (!goes_by_ratio()) {
		u64 most = units_of(window_ns);

		return slept < most ? WORST_SCORE - WORST_SCORE * slept / most : 0;
	}
	if (slept > ran)
		return MIDDLE_SCORE * ran / slept;
	return ran ? MIDDLE_SCORE + MIDDLE_SCORE * (ran - slept) / ran : 0;
}

/* sched_priority(): as posted. */
static __always_inline u32 posted_level(struct slot *s)
{
	s32 level = POSTED_FIRST_LEVEL + POSTED_LEVELS + s->nice;

	level -= slept_ticks(s) * POSTED_LEVELS / POSTED_WINDOW_TICKS;
	return level < 0 ? 0 : level & (LEVELS - 1);
}

/* This many fifths of a slice, rounded as C does. */
static __always_inline s32 fifths(s32 ticks, u32 times)
{
	return ticks < 0 ? -(s32)((u32)-ticks / 5 * times) : (s32)((u32)ticks / 5 * times);
}

/* sched_slice(): as posted, three fifths by saved-up sleep (the more sleep, the shorter), and two by the level. */
static __always_inline u64 posted_slice(struct slot *s)
{
	s32 by_sleep = POSTED_SLICE_TICKS - slept_ticks(s) * POSTED_SLICE_TICKS / POSTED_WINDOW_TICKS;
	s32 by_level = POSTED_SLICE_TICKS - (s32)(s->level * POSTED_SLICE_TICKS / POSTED_LEVELS);
	s32 ticks = fifths(by_sleep, 3) + fifths(by_level, 2);

	if (ticks < 1)
		ticks = 1;
	return (ticks < POSTED_SLICE_TICKS ? ticks : POSTED_SLICE_TICKS) * POSTED_TICK_NS;
}

/* 10 ms at nice 19 to 100 ms at nice -20, evenly; an interactive task is looked at again soon. The division comes last, so that
 * the slice stays between both if the greatest is set below the least: `more` wraps then, and the difference wraps back. */
static __always_inline u64 slice_of(struct slot *s)
{
	u64 more = greatest_slice_ns - least_slice_ns;

	if (posted)
		return posted_slice(s);
	if (s->interactive || s->is_idle)
		return least_slice_ns;
	return (greatest_slice_ns * 39 - more * (u32)(s->nice + 20)) / 39;
}

/* Subtracts what the task has run since from its slice, and adds it to its history. */
static __always_inline void charge(struct slot *s, const struct task_struct *p)
{
	u64 ran_ns = p->se.sum_exec_runtime;
	u64 since_ns = ran_ns - s->ran_ns;

	if (!since_ns)
		return;
	s->left_ns -= since_ns;
	s->ran_ns = ran_ns;
	add_run(s, since_ns);
}

static __always_inline void rate(struct slot *s)
{
	u32 score;

	if (posted) {
		s->interactive = slept_ticks(s) > POSTED_CURRENT_TICKS;
		s->level = posted_level(s);
		return;
	}
	score = score_of(s);
	s->interactive = score < INTERACTIVE_SCORE;
	s->level = (score * SCORE_LEVELS / WORST_SCORE + (u32)(s->nice + 20) / 2) & (LEVELS - 1);
}

/* A turn begins: a score, and a full slice, less what the last one was exceeded by. */
static __always_inline void begin_turn(struct slot *s)
{
	s64 overrun_ns = s->left_ns < 0 ? s->left_ns : 0;

	rate(s);
	s->left_ns = slice_of(s) + overrun_ns;
	if (s->left_ns <= 0)
		s->left_ns = 1;
	if (posted && halve)
		s->slept /= 2;
}

/* It wakes, or is new: as posted it has no new slice, only a new level. */
static __always_inline void come(struct slot *s)
{
	if (posted && s->left_ns > 0)
		rate(s);
	else
		begin_turn(s);
}

#endif
