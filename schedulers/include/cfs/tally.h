/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, fourth: what each runqueue counts. A task is counted at no more than one runqueue, from when it is queued
 * until it sleeps; code that counts it again, because it moves or its load has changed, first subtracts what was
 * counted. Several CPUs may do so at once: a lock decides which change comes first; the sums are updated atomically.
 */
#ifndef CFS_TALLY_H
#define CFS_TALLY_H

#include "groups.h"

/* Slots share these locks. */
#define TALLY_LOCKS 1024

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TALLY_LOCKS);
	__type(key, u32);
	__type(value, struct line_lock);
} tally_locks SEC(".maps");

static __always_inline void add_to_runqueue(const struct tally *t, s32 sign)
{
	struct runqueue *rq = runqueue_at(t->where - 1);

	if (!t->where)
		return;
	__sync_fetch_and_add(&rq->nr_running, sign);
	__sync_fetch_and_add(&rq->weight, sign * (s64)t->weight);
	__sync_fetch_and_add(&rq->load, sign * (s64)t->load);
}

/*
 * Replaces what is counted for a task, if it is counted at `only` and has not
 * been counted again since `counts` was read (ANYWHERE: unconditionally).
 */
#define ANYWHERE (~0U)
static __always_inline bool exchange_tally(u32 number, u32 only, struct tally *counts)
{
	struct slot *s = slot_at(number);
	u32 key = number & (TALLY_LOCKS - 1);
	struct line_lock *line = bpf_map_lookup_elem(&tally_locks, &key);
	struct tally before;
	bool applies;

	if (!line)
		return false;
	bpf_spin_lock(&line->lock);
	before = s->tally;
	applies = only == ANYWHERE || (before.where == only && before.times == counts->times);
	if (applies) {
		s->tally = *counts;
		s->tally.times = before.times + 1;
	}
	bpf_spin_unlock(&line->lock);
	if (!applies)
		return false;
	*counts = before;
	return true;
}

/* What it would count as at a runqueue now. */
static __always_inline struct tally tally_for(struct slot *s, u32 where)
{
	struct tally t = { .where = where, .group = s->group, .share = s->weight };

	t.weight = weight_among_all(t.group, t.share);
	/* A runnable task is always some load. */
	t.load = (t.weight * s->average >> WHOLE_SHIFT) + 1;
	return t;
}

/* Counts a task at a CPU's runqueue, with its current load. */
static __noinline int count_at(u32 number, u32 cpu)
{
	struct slot *s = slot_at(number);
	struct tally now, before;
	bool is_known;

	if (number == NOBODY)
		return 0;
	/* Its group must count it before its weight is known. */
	is_known = s->tally.where && s->tally.group == s->group && s->tally.share == s->weight;
	if (!is_known)
		add_to_group(s->group, s->weight, 1);
	now = tally_for(s, cpu + 1);
	before = now;
	if (!exchange_tally(number, ANYWHERE, &before))
		return 0;
	add_to_runqueue(&before, -1);
	add_to_runqueue(&now, 1);
	/* Another CPU may have been quicker. */
	if (is_known && before.where && before.group == now.group && before.share == now.share)
		return 0;
	if (is_known)
		add_to_group(now.group, now.share, 1);
	if (before.where)
		add_to_group(before.group, before.share, -1);
	return 0;
}

/* A task with this count has moved from one runqueue to another, unless it has been counted again since. */
static __noinline int count_move(u32 number, const struct tally *counted, u32 from, u32 to)
{
	struct tally now, before;

	if (!counted)
		return 0;
	now = *counted;
	now.where = to + 1;
	before = now;
	if (!exchange_tally(number, from + 1, &before))
		return 0;
	add_to_runqueue(&before, -1);
	add_to_runqueue(&now, 1);
	return 1;
}

/* It is no longer runnable. */
static __noinline int uncount(u32 number)
{
	struct tally t = {};

	if (number == NOBODY || !exchange_tally(number, ANYWHERE, &t) || !t.where)
		return 0;
	add_to_runqueue(&t, -1);
	add_to_group(t.group, t.share, -1);
	return 1;
}

#endif
