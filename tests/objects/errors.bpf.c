// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it exits with scx_bpf_error(), with a message, after a number of enqueues.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
const volatile u64 fail_after = 100;
static u64 nr_enqueued;

struct exit_record exit_record;

CALLBACK(void, errors_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 nr = __sync_fetch_and_add(&nr_enqueued, 1);

	if (nr == fail_after)
		scheduler_error("gave up after %llu enqueues", nr);
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, errors_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, errors_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, errors_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(errors_ops,
	  .enqueue = (void *)errors_enqueue,
	  .dispatch = (void *)errors_dispatch,
	  .init = (void *)errors_init,
	  .exit = (void *)errors_exit,
	  .name = "errors");
