/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1, fourth: real-time tasks, by hint. They are few and must run now, anywhere: one queue for all CPUs with
 * a lock of its own, and a broadcast that makes every CPU look. CPUs that never see such a task only read one word.
 */
#ifndef O1_REALTIME_H
#define O1_REALTIME_H

#include "arrays.h"

#define REALTIME_LEVELS 128
#define ROUND_ROBIN_NS (100 * MSEC_NS)
/* How many tasks that may not use this CPU are passed over at one level. */
#define REALTIME_LOOKS 8

static LOCK(realtime_lock);
/* The highest bit is the highest priority: rt_priority 64 to 127, and 0 to 63. */
static struct {
	u64 high;
	u64 low;
	struct list lists[REALTIME_LEVELS];
} realtime LINE;

static __always_inline u32 realtime_level(struct slot *s)
{
	return s->rt.rt_priority & (REALTIME_LEVELS - 1);
}

static __always_inline bool realtime_waits(void)
{
	return realtime.high | realtime.low;
}

static __always_inline u32 highest_bit(u64 word)
{
	u32 bit = 0;

	if (word >> 32)
		bit += 32, word >>= 32;
	if (word >> 16)
		bit += 16, word >>= 16;
	if (word >> 8)
		bit += 8, word >>= 8;
	if (word >> 4)
		bit += 4, word >>= 4;
	if (word >> 2)
		bit += 2, word >>= 2;
	return bit + (word >> 1);
}

static __always_inline void set_realtime_bit(u32 level, bool on)
{
	u64 bit = 1ULL << (level & 63);
	u64 *word = level >= 64 ? &realtime.high : &realtime.low;

	*word = on ? *word | bit : *word & ~bit;
}

/* The lock is held. */
static __always_inline void unlink_realtime(u32 number)
{
	struct slot *s = slot_at(number);
	u32 level = s->level & (REALTIME_LEVELS - 1);
	struct list *list = &realtime.lists[level];

	unlink_from(list, s);
	if (!list->first)
		set_realtime_bit(level, false);
	s->where = NOWHERE;
}

static __always_inline void link_realtime(u32 number, bool at_end)
{
	struct slot *s = slot_at(number);
	u32 level = realtime_level(s);

	if (__sync_val_compare_and_swap(&s->where, NOWHERE, IN_REALTIME) != NOWHERE)
		return;
	s->level = level;
	link_into(&realtime.lists[level], number, at_end);
	set_realtime_bit(level, true);
}

/* The first real-time task that `cpu` may take and that goes before `before`; NOBODY where there is none. */
static __always_inline u32 take_realtime(u32 cpu, u32 before)
{
	struct slot *s = slot_at(before);
	u32 number = NOBODY;
	u32 level;
	s32 i;

	bpf_spin_lock(&realtime_lock.lock);
	if (realtime_waits()) {
		level = realtime.high ? 64 + highest_bit(realtime.high) : highest_bit(realtime.low);
		level &= REALTIME_LEVELS - 1;
		number = realtime.lists[level].first;
		for_range(i, 0, REALTIME_LOOKS) {
			if (number == NOBODY || may_use(number, cpu))
				break;
			number = slot_at(number)->next;
		}
		if (before && s->rt.policy &&
		    (realtime_level(s) > level || (realtime_level(s) == level && !s->behind)))
			number = NOBODY;
		if (number != NOBODY && may_use(number, cpu))
			unlink_realtime(number);
		else
			number = NOBODY;
	}
	bpf_spin_unlock(&realtime_lock.lock);
	return number;
}

/* Every CPU that runs something lesser looks at once. */
static __always_inline void broadcast(u32 number)
{
	u32 priority = realtime_level(slot_at(number)) + 1;
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
		if (runqueue_at(cpu)->curr_realtime < priority && may_use(number, cpu))
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

static __always_inline void enqueue_realtime(u32 number, bool at_end)
{
	bpf_spin_lock(&realtime_lock.lock);
	link_realtime(number, at_end);
	bpf_spin_unlock(&realtime_lock.lock);
	broadcast(number);
}

#endif
