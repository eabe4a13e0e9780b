// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: a task dispatched twice, and another never. The queue is the scheduler's own array. A CPU reads its head, gets
 * the task, and only then advances the head. Two CPUs that do so at once take the same task, and skip the next one.
 */
#include "keel.h"

LICENSE;

#define SLOTS 1024

/* Advance the head first, with one atomic instruction: the fix. */
const volatile u32 takes_at_once = 0;

static u32 slots[SLOTS];
static u64 head, tail;

struct exit_record exit_record;

CALLBACK(s32, taken_twice_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

CALLBACK(void, taken_twice_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 at;

	/* Others could not run it. */
	if (p->nr_cpus_allowed == 1) {
		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	at = __sync_fetch_and_add(&tail, 1);
	slots[at % SLOTS] = p->pid;
}

CALLBACK(void, taken_twice_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *p;
	u64 at = head;

	if (at >= tail)
		return;
	if (takes_at_once && __sync_val_compare_and_swap(&head, at, at + 1) != at)
		return;
	p = bpf_task_from_pid(slots[at % SLOTS]);
	if (p) {
		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
		bpf_task_release(p);
	}
	if (!takes_at_once)
		head = head + 1;
}

CALLBACK(void, taken_twice_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(taken_twice_ops,
	  .select_cpu = (void *)taken_twice_select_cpu,
	  .enqueue = (void *)taken_twice_enqueue,
	  .dispatch = (void *)taken_twice_dispatch,
	  .exit = (void *)taken_twice_exit,
	  .timeout_ms = 500,
	  .name = "taken_twice");
