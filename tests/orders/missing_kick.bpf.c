// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: a missing kick. A CPU that queues a task kicks the idle CPUs only if the queue was empty: otherwise the CPU that takes the
 * task before it sees that there are more, and kicks again. But the kernel puts a task into the queue once ops.enqueue has
 * returned. If the CPU takes the last task after ops.enqueue has looked, and before that, then neither of them kicks.
 *
 * The fix is to kick whatever the queue contains.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define CPUS 3

/* The fix. */
const volatile u32 always_kicks = 0;
/* Tasks queued so far. */
static u64 queued;

struct exit_record exit_record;

/* CPUs that run a task take no notice. */
static void kick_idle(void)
{
	s32 cpu;

	for_range(cpu, 0, CPUS)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* The CPU of the waker, which is busy: an idle one must be kicked. */
CALLBACK(s32, missing_kick_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return bpf_get_smp_processor_id();
}

CALLBACK(void, missing_kick_enqueue, struct task_struct *p, u64 enq_flags)
{
	bool was_empty;

	/* In the queue it would look like work for others. */
	if (p->nr_cpus_allowed == 1) {
		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	was_empty = scx_bpf_dsq_nr_queued(SHARED_DSQ) == 0;
	__sync_fetch_and_add(&queued, 1);
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
	if (was_empty || always_kicks)
		kick_idle();
}

CALLBACK(void, missing_kick_dispatch, s32 cpu, struct task_struct *prev)
{
	if (scx_bpf_dsq_move_to_local(SHARED_DSQ) && scx_bpf_dsq_nr_queued(SHARED_DSQ) > 0)
		kick_idle();
}

SLEEPABLE(s32, missing_kick_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, missing_kick_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(missing_kick_ops,
	  .select_cpu = (void *)missing_kick_select_cpu,
	  .enqueue = (void *)missing_kick_enqueue,
	  .dispatch = (void *)missing_kick_dispatch,
	  .init = (void *)missing_kick_init,
	  .exit = (void *)missing_kick_exit,
	  .name = "missing_kick");
