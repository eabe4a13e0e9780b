// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: some tasks are dropped. Every eighth enqueue of an ordinary task goes nowhere, so that
 * the task is runnable forever and never runs: the kernel's watchdog must detect it.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
/* Kernel threads are spared: without them nothing could report the stall. */
#define PF_KTHREAD 0x00200000

const volatile u32 every = 8;
static u64 nr_enqueued;

struct exit_record exit_record;

CALLBACK(void, forgets_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (!(p->flags & PF_KTHREAD) && __sync_fetch_and_add(&nr_enqueued, 1) % every == every - 1)
		return;
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, forgets_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, forgets_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, forgets_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(forgets_ops,
	  .enqueue = (void *)forgets_enqueue,
	  .dispatch = (void *)forgets_dispatch,
	  .init = (void *)forgets_init,
	  .exit = (void *)forgets_exit,
	  .timeout_ms = 2000,
	  .name = "forgets");
