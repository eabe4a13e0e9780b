/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1, second: how a task's load becomes its level, and how long it may run.
 *
 * A task is busy from when it gets a CPU until it sleeps: waiting for its turn after a wakeup is not held against it, so
 * a light task stays light however long it waits. Its load is the busy share of the time since it is known, or of the
 * four seconds that the ring covers, whichever is shorter. A child begins with its parent's penalty, and a task that
 * hardly uses its CPU stays active when its timeslice expires. Later versions of the kernel's scheduler are similar.
 *
 * As announced (announced_load=1), a task is busy while it does not sleep, even while it
 * waits, and its load is the busy share of the four seconds. A new task has no load yet.
 */
#ifndef O1_LOAD_H
#define O1_LOAD_H

#include "types.h"

#define LOAD_SHIFT 10
#define MS_PER_NICE 5

static __always_inline u32 history_size(void)
{
	u32 entries = history_entries;

	if (entries < 1)
		return 1;
	return entries < MAX_HISTORY ? entries : MAX_HISTORY;
}

static __always_inline u64 interval_ns(void)
{
	return history_interval_ns ? history_interval_ns : SECOND_NS;
}

/* How far back the ring reaches. */
static __always_inline u64 history_ns(void)
{
	return interval_ns() * history_size();
}

/* The ring's entry for the current interval. */
static __always_inline u32 *busy_now(struct slot *s)
{
	u32 entry = s->interval % history_size();

	/* The compiler knows that this is small enough; verifiers before 7.2 need to see it. */
	barrier_var(entry);
	return &s->busy[entry & (MAX_HISTORY - 1)];
}

static __always_inline void add_busy(struct slot *s, u64 until)
{
	u32 *entry = busy_now(s);
	u32 more;

	if (!s->busy_since || until <= s->busy_since)
		return;
	more = (until - s->busy_since) >> LOAD_SHIFT;
	*entry += more;
	s->busy_sum += more;
	s->busy_since = until;
}

/* Brings the ring up to date; each interval that has begun since replaces the oldest entry. */
static __noinline u32 update_load(u32 number, u64 now)
{
	struct slot *s = slot_at(number);
	u64 length = interval_ns();
	u64 interval = now / length;
	s32 i;

	/* Longer ago than the ring reaches: its last state applied all along. */
	if (interval > s->interval + MAX_HISTORY) {
		s->interval = interval - MAX_HISTORY;
		if (s->busy_since)
			s->busy_since = s->interval * length;
	}
	if (interval > s->interval) {
		for_range(i, 0, MAX_HISTORY) {
			u32 *oldest;

			if (s->interval >= interval)
				break;
			add_busy(s, (s->interval + 1) * length);
			s->interval++;
			oldest = busy_now(s);
			s->busy_sum -= *oldest;
			*oldest = 0;
		}
	}
	add_busy(s, now);
	return 0;
}

/* The level without a penalty. */
static __always_inline u32 best_level_of(struct slot *s)
{
	return s->nice == BATCH_NICE ? BATCH_LEVEL : s->nice + 20;
}

/* How much of the ring counts: all of it, or by our rule only the time since the task is known. */
static __always_inline u64 counted_ns(struct slot *s, u64 now)
{
	u64 known = now - s->born;

	return !announced_load && known < history_ns() ? known : history_ns();
}

/* The penalty is the busy share. It is bounded, so that hogs still observe each other's nice values. */
static __always_inline u32 level_of(struct slot *s, u64 now)
{
	u32 most = announced_load ? MAX_PENALTY : OUR_PENALTY;
	u64 penalty;

	if (s->nice == BATCH_NICE)
		return BATCH_LEVEL;
	penalty = (u64)s->busy_sum * most / ((counted_ns(s, now) >> LOAD_SHIFT) + 1);
	return best_level_of(s) + (penalty < most ? penalty : most);
}

/* It is runnable, and is going to wait: as announced, that counts as load. */
static __always_inline void begin_waiting(struct slot *s, u64 now)
{
	if (announced_load && !s->busy_since)
		s->busy_since = now;
}

/* 5 ms for each nice value below 20: 100 ms at nice 0, 200 at -20. */
static __always_inline u64 full_timeslice(struct slot *s)
{
	return (20 - s->nice) * MS_PER_NICE * MSEC_NS;
}

/* Batch tasks run long if no other task waits. */
static __always_inline u64 timeslice_of(struct slot *s, struct runqueue *rq)
{
	if (s->nice == BATCH_NICE && rq->nr_waiting == rq->nr_batch)
		return batch_slice_ns;
	return full_timeslice(s);
}

/* Subtracts what the task has run since from its timeslice. */
static __always_inline void charge(struct slot *s, const struct task_struct *p)
{
	u64 ran_ns = p->se.sum_exec_runtime;

	s->left_ns -= ran_ns - s->ran_ns;
	s->ran_ns = ran_ns;
}

/*
 * The timeslice has expired: it is refilled at once, and the array chosen, since the arrays may be exchanged
 * before the task is enqueued. It goes to the expired array; by our rule not if it hardly uses its CPU.
 */
static __always_inline void expire(u32 number, struct runqueue *rq, u64 now)
{
	struct slot *s = slot_at(number);
	u32 active = rq->active & 1;
	bool stays;

	update_load(number, now);
	s->level = level_of(s, now);
	/* It ran on until a tick noticed: that is subtracted from the new timeslice. */
	s->left_ns += timeslice_of(s, rq);
	if (s->left_ns <= 0)
		s->left_ns = 1;
	s->borrowed = false;
	s->expired = true;
	s->behind = true;
	s->goes_last = true;
	if (!rq->arrays[active ^ 1].bitmap)
		rq->expired_since = now;
	stays = !announced_load && s->nice != BATCH_NICE && s->level <= best_level_of(s) + interactive_penalty &&
		now - rq->expired_since < starvation_ns * (rq->nr_waiting + 1);
	s->array = stays ? active : active ^ 1;
}

#endif
