/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy events: a scheduler reports what it considered. A wakeup reports which CPUs it
 * looked at and which it chose; a balancing reports which loads it assumed for the groups,
 * and what it moved. They appear in the trace, on a simulated kernel and on a real one alike.
 *
 * They are off by default; --set tell_policy=1 turns them on. While they are off, policy_begin() returns
 * NULL, and a real kernel loads no code for them: its verifier drops code that is never reached.
 *
 *	struct policy_event *e = policy_begin(POLICY_WAKEUP, 0, cpu);
 *	...
 *	policy_considered(e, candidate);
 *	...
 *	policy_chose(e, p->pid, chosen);
 *	policy_tell(e);
 *
 * The verifier insists on one policy_tell() for every policy_begin(), on every path. Every
 * function that takes an event accepts NULL. While a bpf_spin_lock is held, policy_begin()
 * and policy_tell() are not allowed, because they call helpers; the others are.
 */
#ifndef KEEL_POLICY_H
#define KEEL_POLICY_H

#include "keel.h"
#include "policy_event.h"

#define POLICY_RING (1 << 20)
/* An event in the ring, with the ring's own header. */
#define POLICY_RECORD (sizeof(struct policy_event) + 8)
#define POLICY_PORTION (POLICY_RING / 4)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, POLICY_RING);
} policy_events SEC(".maps");

/* Setting: whether events are reported. */
#ifndef TELL_POLICY
#define TELL_POLICY 0
#endif
const volatile u32 tell_policy = TELL_POLICY;

/* Events lost because the ring was full, for user space to read. */
u64 policy_lost;

/* An event to fill in; NULL if events are off or the ring is full. */
static __always_inline struct policy_event *policy_begin(enum policy_kind kind, u32 level, u32 cpu)
{
	struct policy_event *e;

	if (!tell_policy)
		return NULL;
	e = bpf_ringbuf_reserve(&policy_events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&policy_lost, 1);
		return NULL;
	}
	/* The ring's memory still holds its previous contents. */
	__builtin_memset(e, 0, sizeof(*e));
	e->at_ns = bpf_ktime_get_ns();
	e->kind = kind;
	e->level = level;
	e->cpu = cpu;
	e->chosen = -1;
	return e;
}

/* This CPU was looked at. */
static __always_inline void policy_considered(struct policy_event *e, u32 cpu)
{
	u32 word = cpu / 64;

	if (!e)
		return;
	/* Hidden, so that the compiler keeps the bound where the verifier sees it. */
	asm volatile("" : "+r"(word));
	if (word < POLICY_WORDS)
		e->considered[word] |= 1ULL << (cpu & 63);
}

/* One group that was compared; the decider's own comes first. */
static __always_inline void policy_group(struct policy_event *e, u64 load, u32 first_cpu, u32 cpus, u32 runnable)
{
	u32 at;

	if (!e)
		return;
	at = e->nr_groups;
	e->nr_groups = at + 1;
	asm volatile("" : "+r"(at));
	if (at < POLICY_GROUPS) {
		struct policy_group *group = &e->groups[at];

		group->load = load;
		group->first_cpu = first_cpu;
		group->cpus = cpus;
		group->runnable = runnable;
	}
}

/* A CPU for a woken or new task. */
static __always_inline void policy_chose(struct policy_event *e, s32 pid, s32 chosen)
{
	if (!e)
		return;
	e->pid = pid;
	e->chosen = chosen;
	e->outcome = POLICY_CHOSE;
}

/* The result of a balancing: the busiest CPU, or -1, and how many tasks came from there. */
static __always_inline void policy_outcome(struct policy_event *e, enum policy_outcome outcome, s32 busiest,
					   u32 moved)
{
	if (!e)
		return;
	e->chosen = busiest;
	e->moved = moved;
	e->outcome = outcome;
}

/* Submits the event, which no longer belongs to the scheduler. The reader is woken whenever another quarter has filled. */
static __always_inline void policy_tell(struct policy_event *e)
{
	u64 waiting;

	if (!e)
		return;
	/* This event is among those that are waiting already. */
	waiting = bpf_ringbuf_query(&policy_events, BPF_RB_AVAIL_DATA);
	bpf_ringbuf_submit(e, waiting / POLICY_PORTION != (waiting - POLICY_RECORD) / POLICY_PORTION ?
				      BPF_RB_FORCE_WAKEUP :
				      BPF_RB_NO_WAKEUP);
}

#endif
