// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: one queue is used in both orders: every other task goes in by arrival, the rest by
 * vtime.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
static u64 nr_enqueued;

struct exit_record exit_record;

CALLBACK(void, mixed_dsq_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (__sync_fetch_and_add(&nr_enqueued, 1) % 2)
		insert_vtime(p, SHARED_DSQ, SCX_SLICE_DFL, p->scx.dsq_vtime, enq_flags);
	else
		insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, mixed_dsq_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, mixed_dsq_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, mixed_dsq_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(mixed_dsq_ops,
	  .enqueue = (void *)mixed_dsq_enqueue,
	  .dispatch = (void *)mixed_dsq_dispatch,
	  .init = (void *)mixed_dsq_init,
	  .exit = (void *)mixed_dsq_exit,
	  .name = "mixed_dsq");
