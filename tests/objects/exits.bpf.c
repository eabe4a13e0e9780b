// SPDX-License-Identifier: GPL-2.0-only
/*
 * No real fault: it exits with scx_bpf_exit(), with a code and a message, after a number of
 * enqueues.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
const volatile u64 leave_after = 100;
static u64 nr_enqueued;

struct exit_record exit_record;

CALLBACK(void, exits_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 nr = __sync_fetch_and_add(&nr_enqueued, 1);

	if (nr == leave_after)
		scheduler_exit(42, "done after %llu enqueues", nr);
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, exits_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, exits_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, exits_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(exits_ops,
	  .enqueue = (void *)exits_enqueue,
	  .dispatch = (void *)exits_dispatch,
	  .init = (void *)exits_init,
	  .exit = (void *)exits_exit,
	  .name = "exits");
