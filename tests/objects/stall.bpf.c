// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it stops. After a number of enqueues, by default at once, it queues only
 * kernel threads, which a real kernel needs to detect the stall.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define PF_KTHREAD 0x00200000

const volatile u64 stop_after = 0;
static u64 nr_enqueued;

struct exit_record exit_record;

/* The kernel's own choice would send the task straight to an idle CPU. */
CALLBACK(s32, stall_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

CALLBACK(void, stall_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (__sync_fetch_and_add(&nr_enqueued, 1) < stop_after || p->flags & PF_KTHREAD)
		insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, stall_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, stall_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, stall_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(stall_ops,
	  .select_cpu = (void *)stall_select_cpu,
	  .enqueue = (void *)stall_enqueue,
	  .dispatch = (void *)stall_dispatch,
	  .init = (void *)stall_init,
	  .exit = (void *)stall_exit,
	  .timeout_ms = 2000,
	  .name = "stall");
