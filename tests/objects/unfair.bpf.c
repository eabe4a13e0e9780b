// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: starvation. Strict priority by process id: the lowest one that can run always does, and
 * busy tasks with low ids keep all others waiting until the watchdog is a little short of ending
 * it.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
const volatile u64 slice_ns = 5000000;

struct exit_record exit_record;

CALLBACK(void, unfair_enqueue, struct task_struct *p, u64 enq_flags)
{
	insert_vtime(p, SHARED_DSQ, slice_ns, p->pid, enq_flags);
}

CALLBACK(void, unfair_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, unfair_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, unfair_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(unfair_ops,
	  .enqueue = (void *)unfair_enqueue,
	  .dispatch = (void *)unfair_dispatch,
	  .init = (void *)unfair_init,
	  .exit = (void *)unfair_exit,
	  .name = "unfair");
