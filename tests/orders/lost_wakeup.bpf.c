// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: a lost wakeup. A CPU that finds the queue empty announces this after it has looked. A task that is queued in
 * between looks for announced CPUs, finds none, and kicks nobody.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1

/* Announce it before the last look: the fix. */
const volatile u32 looks_again = 0;
/* CPUs that found nothing to do: one bit each. */
static u64 waiting;

struct exit_record exit_record;

/* The CPU of the waker, which is busy: a waiting CPU must be kicked. */
CALLBACK(s32, lost_wakeup_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return bpf_get_smp_processor_id();
}

CALLBACK(void, lost_wakeup_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu;
	u64 all;

	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
	all = __sync_fetch_and_and(&waiting, 0);
	for_range(cpu, 0, 64) {
		if (all & 1ull << (cpu & 63))
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	}
}

CALLBACK(void, lost_wakeup_dispatch, s32 cpu, struct task_struct *prev)
{
	if (scx_bpf_dsq_move_to_local(SHARED_DSQ))
		return;
	__sync_fetch_and_or(&waiting, 1ull << (cpu & 63));
	if (looks_again)
		scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, lost_wakeup_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, lost_wakeup_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(lost_wakeup_ops,
	  .select_cpu = (void *)lost_wakeup_select_cpu,
	  .enqueue = (void *)lost_wakeup_enqueue,
	  .dispatch = (void *)lost_wakeup_dispatch,
	  .init = (void *)lost_wakeup_init,
	  .exit = (void *)lost_wakeup_exit,
	  .name = "lost_wakeup");
