/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What schedulers with a runqueue and a lock for each CPU share: where to look for tasks, and which CPU takes
 * the tasks of one that takes none itself. The file that includes this defines LEVELS and what a runqueue
 * holds, including `curr`, `nr_waiting`, `offline` and `stuck_since`; and take_from() and move_one().
 */
#ifndef KEEL_RUNQUEUES_H
#define KEEL_RUNQUEUES_H

#include "insert_on.h"
#include "lists.h"

/* How many tasks that may not move are skipped, and how many move at once: no step loops over all tasks. */
#define LOOKS 16
#define MAX_MOVED 8

static struct runqueue runqueues[MAX_CPUS] LINE;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct line_lock);
} runqueue_locks SEC(".maps");

static __always_inline struct runqueue *runqueue_at(u32 number)
{
	return &runqueues[number & (MAX_CPUS - 1)];
}

static __always_inline struct bpf_spin_lock *lock_of(u32 number)
{
	u32 key = number & (MAX_CPUS - 1);
	struct line_lock *line = bpf_map_lookup_elem(&runqueue_locks, &key);

	return line ? &line->lock : 0;
}

#ifdef CROWD
#include "crowd.h"
#else
static __always_inline void count_waiting(u32 queue, u32 nr_waiting)
{
}

static __always_inline bool has_waiting(u32 number)
{
	return runqueue_at(number)->nr_waiting;
}

/* The other CPU with most waiting tasks; `cpu` itself if no task waits. */
static __always_inline u32 busiest(u32 cpu)
{
	u32 most = 0, found = cpu;
	s32 i;

	for_range(i, 1, nr_cpus) {
		u32 other = (cpu + i) % nr_cpus;
		u32 nr = runqueue_at(other)->nr_waiting;

		if (nr > most) {
			most = nr;
			found = other;
		}
	}
	return found;
}
#endif

static __always_inline bool is_offline(u32 cpu)
{
	return runqueue_at(cpu)->offline;
}

#include "another_cpu.h"
#include "kick.h"

/* A task that `cpu` may take, best level first, given the lists and the bitmap of non-empty ones; the lock is held. */
static __always_inline u32 find_movable(struct list *lists, u64 levels, u32 cpu)
{
	u32 number = NOBODY;
	s32 i;

	for_range(i, 0, LOOKS) {
		if (number == NOBODY) {
			if (!levels)
				break;
			number = lists[__builtin_ctzll(levels) & (LEVELS - 1)].first;
			levels &= levels - 1;
		}
		if (may_use(number, cpu))
			return number;
		number = slot_at(number)->next;
	}
	return NOBODY;
}

/* Takes a task that `cpu` may run off another CPU's runqueue; NOBODY if none may move. */
static u32 take_from(u32 victim, u32 cpu);

/* A task for a CPU that has none: from the one with most, else from any that has one to give. */
static __always_inline u32 take_from_any(u32 cpu)
{
	u32 victim = busiest(cpu), number;
	s32 i;

	if (victim == cpu)
		return NOBODY;
	number = take_from(victim, cpu);
	if (number != NOBODY)
		return number;
	for_range(i, 1, nr_cpus) {
		u32 other = (cpu + i) % nr_cpus;

		if (!has_waiting(other))
			continue;
		number = take_from(other, cpu);
		if (number != NOBODY)
			return number;
	}
	return NOBODY;
}

/* Moves one task to this CPU, where it then waits; false if none can move now. */
static bool move_one(u32 from, u32 to);

/*
 * Tasks that wait this long at a CPU that neither runs nor takes any move to this one.
 * Before 7.2 the kernel stops asking a leaving CPU for tasks, then waits for an RCU
 * grace period, and only then calls cpu_offline: RCU's own thread may be waiting there.
 */
static __always_inline void take_in(u32 cpu, u64 now, u64 long_enough_ns)
{
	s32 i, n;

	for_range(i, 1, nr_cpus) {
		u32 other = (cpu + i) % nr_cpus;
		struct runqueue *rq = runqueue_at(other);

		if (rq->curr != NOBODY || !rq->nr_waiting) {
			if (rq->stuck_since)
				rq->stuck_since = 0;
			continue;
		}
		if (!rq->stuck_since)
			rq->stuck_since = now;
		if (now < rq->stuck_since + long_enough_ns)
			continue;
		for_range(n, 0, MAX_MOVED) {
			if (!move_one(other, cpu))
				break;
		}
	}
}

#endif
