// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: the race of sched-ext/scx pull request 1952. A waker looks for an idle CPU and finds none. Then a CPU finds the queue
 * empty and goes idle. Then the waker queues the task, which waits although that CPU idles.
 *
 * The fix is scx_layered's: look for an idle CPU again when the task is in the queue, and look into the queue again
 * when the CPU is idle.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1

/* The fix. */
const volatile u32 looks_again = 0;

struct exit_record exit_record;

/* The waker's own CPU, which is busy, if no other one is idle. */
CALLBACK(s32, idle_pick_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (cpu < 0)
		return bpf_get_smp_processor_id();
	insert(p, SCX_DSQ_LOCAL_ON | cpu, SCX_SLICE_DFL, 0);
	return cpu;
}

CALLBACK(void, idle_pick_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu;

	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
	if (!looks_again)
		return;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

CALLBACK(void, idle_pick_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

CALLBACK(void, idle_pick_update_idle, s32 cpu, bool idle)
{
	if (idle && looks_again && scx_bpf_dsq_nr_queued(SHARED_DSQ) > 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

SLEEPABLE(s32, idle_pick_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, idle_pick_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(idle_pick_ops,
	  .select_cpu = (void *)idle_pick_select_cpu,
	  .enqueue = (void *)idle_pick_enqueue,
	  .dispatch = (void *)idle_pick_dispatch,
	  .update_idle = (void *)idle_pick_update_idle,
	  .init = (void *)idle_pick_init,
	  .exit = (void *)idle_pick_exit,
	  .flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	  .name = "idle_pick");
