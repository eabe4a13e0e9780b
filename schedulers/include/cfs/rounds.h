/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, eleventh: when to balance. Each domain of a CPU is balanced at an interval of as many milliseconds as it has
 * CPUs, 32 times less often while the CPU is busy; immediately when a CPU runs out of tasks; and since idle CPUs
 * have no ticks, a busy one with waiting tasks wakes the first idle one, which balances on behalf of all idle CPUs.
 *
 * All of it happens in ops.dispatch, where queues may be changed: a tick that
 * finds something due requests a dispatch. The task that runs then keeps running.
 */
#ifndef CFS_ROUNDS_H
#define CFS_ROUNDS_H

#include "balance.h"
#include "idle_list.h"

/* How often one CPU checks for CPUs that run nothing though tasks wait there, and how long that must have lasted. */
#define RESCUE_NS (10 * MSEC_NS)

/* When the next round for idle CPUs may be requested, and the next check for stuck tasks. */
static u64 next_nohz LINE;
static u64 next_rescue;

static __always_inline u64 interval_of(struct runqueue *rq, u32 level, bool busy)
{
	u64 interval = rq->level_cpus[level & (LEVELS - 1)] * MSEC_NS;

	return busy ? interval * busy_factor : interval;
}

/* The lowest level from `level` on whose interval is over; LEVELS if there is none. */
static __always_inline u32 next_due(struct runqueue *rq, u32 level, bool busy, u64 now)
{
	s32 l;

	for_range(l, level, LEVELS) {
		if (l > rq->nr_levels)
			break;
		if (now - rq->balanced_at[l & (LEVELS - 1)] >= interval_of(rq, l, busy))
			return l;
	}
	return LEVELS;
}

/* rebalance_domains() */
__noinline int rebalance_domains(u32 cpu, u32 kind, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);
	u32 level = 1;
	s32 i;

	refresh_domains(cpu, now);
	for_range(i, 0, LEVELS) {
		level = next_due(rq, level, rq->nr_running > 0, now);
		if (level >= LEVELS)
			break;
		rq->balanced_at[level & (LEVELS - 1)] = now;
		load_balance(cpu, level, kind);
		level++;
	}
	return 0;
}

/* nohz_idle_balance(): on behalf of all idle CPUs, this one first. */
static __always_inline void balance_for_idle(u32 cpu, u64 now)
{
	s32 i;

	for_range(i, 0, nr_cpus) {
		u32 other = cpu + i < nr_cpus ? cpu + i : cpu + i - nr_cpus;

		/* A task has come here in the meantime. */
		if (runqueue_at(cpu)->nr_running && other != cpu)
			break;
		if (is_idle_cpu(other) && next_due(runqueue_at(other), 1, false, now) < LEVELS)
			rebalance_domains(other, POLICY_NOHZ, now);
	}
}

/* rebalance_domains(): once a second the maximum cost of searching a domain decays by a hundredth. */
static __always_inline void decay_costs(struct runqueue *rq, u64 now)
{
	s32 level;

	if (now - rq->cost_decayed_at < SECOND_NS)
		return;
	rq->cost_decayed_at = now;
	for_range(level, 0, LEVELS)
		rq->newidle_cost[level & (LEVELS - 1)] = rq->newidle_cost[level & (LEVELS - 1)] * 253 / 256;
}

/* load_balance() by a CPU that runs out of tasks, timed; returns how many tasks moved. */
static __always_inline u32 timed_balance(struct runqueue *rq, u32 cpu, u32 level, u64 *spent_ns)
{
	u64 *most_ns = &rq->newidle_cost[level & (LEVELS - 1)];
	u64 began = bpf_ktime_get_ns(), took;
	u32 moved = load_balance(cpu, level, POLICY_NEWIDLE);

	took = bpf_ktime_get_ns() - began;
	if (took > *most_ns)
		*most_ns = took;
	*spent_ns += took;
	return moved;
}

/* idle_balance(): a CPU has run out of tasks. It tries a wider domain only if it expects to idle longer than that takes. */
static __always_inline void balance_newly_idle(u32 cpu, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);
	u64 spent_ns = 0;
	s32 level;

	/* A CPU in the list has already idled, and was asked to balance on behalf of all. */
	if (!newidle_balance || rq->offline || rq->is_listed || rq->average_idle < migration_cost_ns)
		return;
	refresh_domains(cpu, now);
	decay_costs(rq, now);
	for_range(level, 1, LEVELS) {
		if (level > rq->nr_levels || rq->nr_running)
			break;
		if (newidle_gate && rq->average_idle < spent_ns + rq->newidle_cost[level & (LEVELS - 1)])
			break;
		if (timed_balance(rq, cpu, level, &spent_ns))
			break;
	}
}

/* Tasks wait here: the first idle CPU is notified; nohz_balancer_kick(). */
static __always_inline void kick_idle_balancer(u32 cpu, u64 now)
{
	u64 due = next_nohz;
	s32 i;

	if (!nohz_balance || runqueue_at(cpu)->nr_running < 2 || now < due || !nr_idle)
		return;
	if (__sync_val_compare_and_swap(&next_nohz, due, now + MSEC_NS) != due)
		return;
	for_range(i, 0, nr_cpus) {
		if (!is_idle_cpu(i))
			continue;
		runqueue_at(i)->nohz = true;
		scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
		return;
	}
}

/*
 * Before 7.2 the kernel stops asking a leaving CPU for tasks, then waits for an RCU grace period, and only then calls
 * cpu_offline: RCU's own thread may be waiting there. So tasks that wait at a CPU that neither runs nor takes any are taken over.
 */
static __noinline int rescue(u32 here, u64 now)
{
	s32 i;

	search_at(here)->hot_since = ~0ULL;
	for_range(i, 0, nr_cpus) {
		struct runqueue *rq = runqueue_at(i);

		if (i == here || rq->curr != NOBODY || !rq->nr_running || !scx_bpf_dsq_nr_queued(dsq_of(i))) {
			if (rq->stuck_since)
				rq->stuck_since = 0;
			continue;
		}
		if (!rq->stuck_since)
			rq->stuck_since = now;
		else if (now >= rq->stuck_since + RESCUE_NS)
			move_load(here, i, here, ~0ULL, NO_MASK);
	}
	return 0;
}

/* At a busy CPU's tick: whether there is anything to do that needs a dispatch. */
static __always_inline bool wants_balance(u32 cpu, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);
	u64 due = next_rescue;

	kick_idle_balancer(cpu, now);
	if (now >= due && __sync_val_compare_and_swap(&next_rescue, due, now + RESCUE_NS) == due)
		rq->rescues = true;
	/* A CPU that has not idled yet has no domains. */
	if (periodic_balance && (has_old_domains(cpu, now) || next_due(rq, 1, true, now) < LEVELS))
		rq->due = true;
	return rq->due || rq->rescues;
}

/* In dispatch: does what was requested. */
static __always_inline void balance_as_asked(u32 cpu, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);

	if (rq->due) {
		rq->due = false;
		rebalance_domains(cpu, POLICY_BALANCE, now);
	}
	if (rq->rescues) {
		rq->rescues = false;
		rescue(cpu, now);
	}
	if (rq->nohz) {
		rq->nohz = false;
		if (!rq->nr_running)
			balance_for_idle(cpu, now);
	}
}

#endif
