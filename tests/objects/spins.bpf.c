// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: a callback that never ends, as far as the verifier lets one be written: nested
 * bpf_loop(), 2^69 rounds in total. It begins after a number of dispatches, so that the scheduler
 * attaches first.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define ROUNDS (1 << 23)

const volatile u64 spin_after = 1000;
static u64 nr_dispatched;
static u64 rounds;

struct exit_record exit_record;

static long innermost(u32 round, void *unused)
{
	rounds += round;
	return 0;
}

static long middle(u32 round, void *unused)
{
	bpf_loop(ROUNDS, innermost, 0, 0);
	return 0;
}

static long outermost(u32 round, void *unused)
{
	bpf_loop(ROUNDS, middle, 0, 0);
	return 0;
}

CALLBACK(void, spins_enqueue, struct task_struct *p, u64 enq_flags)
{
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, spins_dispatch, s32 cpu, struct task_struct *prev)
{
	if (__sync_fetch_and_add(&nr_dispatched, 1) >= spin_after)
		bpf_loop(ROUNDS, outermost, 0, 0);
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, spins_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, spins_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(spins_ops,
	  .enqueue = (void *)spins_enqueue,
	  .dispatch = (void *)spins_dispatch,
	  .init = (void *)spins_init,
	  .exit = (void *)spins_exit,
	  .timeout_ms = 2000,
	  .name = "spins");
