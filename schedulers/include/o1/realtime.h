/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1, fourth: real-time tasks, by hint. They are few and must run at once, on any CPU: one queue for all CPUs with a
 * lock of its own, and a broadcast that makes every CPU check it. CPUs that never see such a task read only one word.
 */
#ifndef O1_REALTIME_H
#define O1_REALTIME_H

#include "arrays.h"

#define REALTIME_LEVELS 128
#define ROUND_ROBIN_NS (100 * MSEC_NS)
/* How many tasks that may not use this CPU are passed over. */
#define REALTIME_LOOKS 16

static LOCK(realtime_lock);
/* Level 0 is the highest priority; a bit for each level that has tasks. */
static struct {
	u64 bitmap[REALTIME_LEVELS / 64];
	struct list lists[REALTIME_LEVELS];
} realtime LINE;

static __always_inline u32 realtime_level(struct slot *s)
{
	return (REALTIME_LEVELS - 1 - s->rt.rt_priority) & (REALTIME_LEVELS - 1);
}

/* Comparable priorities, above 0; 0 for a task that is not real-time. */
static __always_inline u32 realtime_rank(struct slot *s)
{
	return s->rt.policy ? REALTIME_LEVELS - realtime_level(s) : 0;
}

static __always_inline bool realtime_waits(void)
{
	return realtime.bitmap[0] | realtime.bitmap[1];
}

/* The lock is held. */
static __always_inline void unlink_realtime(u32 number)
{
	struct slot *s = slot_at(number);
	u32 level = s->in_level & (REALTIME_LEVELS - 1);
	struct list *list = &realtime.lists[level];

	unlink_from(list, s);
	if (!list->first)
		realtime.bitmap[level / 64] &= ~(1ULL << (level % 64));
	s->where = NOWHERE;
}

static __always_inline void link_realtime(u32 number, bool at_end)
{
	struct slot *s = slot_at(number);
	u32 level = realtime_level(s);

	if (__sync_val_compare_and_swap(&s->where, NOWHERE, IN_REALTIME) != NOWHERE)
		return;
	s->level = level;
	s->in_level = level;
	link_into(&realtime.lists[level], number, at_end);
	realtime.bitmap[level / 64] |= 1ULL << (level % 64);
	settle(s);
}

/* The first task of the highest priority that `cpu` may take. */
static __always_inline u32 find_realtime(u32 cpu)
{
	u64 high = realtime.bitmap[0], low = realtime.bitmap[1];
	u32 number = NOBODY;
	s32 i;

	for_range(i, 0, REALTIME_LOOKS) {
		if (number == NOBODY) {
			u64 *levels = high ? &high : &low;
			u32 level = high ? 0 : 64;

			if (!*levels)
				break;
			level += __builtin_ctzll(*levels);
			*levels &= *levels - 1;
			number = realtime.lists[level & (REALTIME_LEVELS - 1)].first;
		}
		if (may_use(number, cpu))
			return number;
		number = slot_at(number)->next;
	}
	return NOBODY;
}

/* The real-time task that `cpu` runs next, if it goes before `before`; else NOBODY. */
static __always_inline u32 take_realtime(u32 cpu, u32 before)
{
	struct slot *s = slot_at(before);
	u32 number;

	bpf_spin_lock(&realtime_lock.lock);
	number = find_realtime(cpu);
	if (number != NOBODY && before) {
		u32 rank = realtime_rank(slot_at(number));

		if (realtime_rank(s) > rank || (realtime_rank(s) == rank && !s->behind))
			number = NOBODY;
	}
	if (number != NOBODY)
		unlink_realtime(number);
	bpf_spin_unlock(&realtime_lock.lock);
	return number;
}

/* Every CPU that runs a task of lower priority checks at once. */
static __always_inline void broadcast(u32 number)
{
	u32 rank = realtime_rank(slot_at(number));
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
		if (runqueue_at(cpu)->curr_realtime < rank && may_use(number, cpu))
			kick(cpu, SCX_KICK_PREEMPT);
}

static __always_inline void enqueue_realtime(u32 number, bool at_end)
{
	bpf_spin_lock(&realtime_lock.lock);
	link_realtime(number, at_end);
	bpf_spin_unlock(&realtime_lock.lock);
	broadcast(number);
}

#endif
