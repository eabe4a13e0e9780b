// SPDX-License-Identifier: GPL-2.0-only
/*
 * percpu: one queue per CPU, and nothing that two CPUs share. A baseline for the cost of sharing.
 *
 * Policy. A task runs on the CPU it began on, in order of arrival, a slice at a time. No CPU looks
 * at another one's queue or at a mask of idle CPUs, and the scheduler has no variable that is
 * written while it runs.
 *
 * Weaknesses. It balances nothing: a CPU may idle while tasks wait on another one. Weights don't
 * count. Use it to see how far a workload scales if it is well distributed from the start.
 */
#include "keel.h"

LICENSE;

/* How long a task may run at a time. */
const volatile u64 slice_ns = 20000000;

/* Why the scheduler ended, for user space. */
struct exit_record exit_record;

CALLBACK(s32, percpu_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

CALLBACK(void, percpu_enqueue, struct task_struct *p, u64 enq_flags)
{
	insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
}

CALLBACK(void, percpu_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(percpu_ops,
	  .select_cpu = (void *)percpu_select_cpu,
	  .enqueue = (void *)percpu_enqueue,
	  .exit = (void *)percpu_exit,
	  .name = "percpu");
