// SPDX-License-Identifier: GPL-2.0-only
/*
 * It gets back tasks that it put into a local queue, and exits when it has got a hundred.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
static u64 nr_back;

struct exit_record exit_record;

CALLBACK(void, reenqueues_enqueue, struct task_struct *p, u64 enq_flags)
{
	/* Linux 6.18 and older lack the kfunc: there every task counts. */
	bool is_old = !kfunc_exists(scx_bpf_reenqueue_local___v2___compat);

	if (enq_flags & SCX_ENQ_REENQ || is_old) {
		if (__sync_fetch_and_add(&nr_back, 1) == 100)
			scheduler_error("%d tasks came back", 100);
		insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
		return;
	}
	insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
	scx_bpf_reenqueue_local___v2___compat();
}

CALLBACK(void, reenqueues_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, reenqueues_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, reenqueues_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(reenqueues_ops,
	  .enqueue = (void *)reenqueues_enqueue,
	  .dispatch = (void *)reenqueues_dispatch,
	  .init = (void *)reenqueues_init,
	  .exit = (void *)reenqueues_exit,
	  .name = "reenqueues");
