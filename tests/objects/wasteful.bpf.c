// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: cores idle while threads wait. Every task goes into the queue of the CPU that it last
 * ran on, or of the CPU that woke it, and never leaves that queue for another CPU: no code
 * looks for an idle CPU, and an idle CPU takes nothing from the others. Otherwise this is fifo.
 */
#include "keel.h"

LICENSE;

#define FIRST_DSQ 1

const volatile u64 slice_ns = 20000000;
/* Stay with the CPU that wakes, otherwise with the previous one. */
const volatile bool follow_waker = true;

struct exit_record exit_record;

CALLBACK(s32, wasteful_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 waker = bpf_get_smp_processor_id();

	if (follow_waker && bpf_cpumask_test_cpu(waker, p->cpus_ptr))
		return waker;
	return prev_cpu;
}

CALLBACK(void, wasteful_enqueue, struct task_struct *p, u64 enq_flags)
{
	insert(p, FIRST_DSQ + scx_bpf_task_cpu(p), slice_ns, enq_flags);
}

CALLBACK(void, wasteful_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(FIRST_DSQ + cpu);
}

SLEEPABLE(s32, wasteful_init)
{
	u32 cpus = scx_bpf_nr_cpu_ids();
	s32 cpu;

	for_range(cpu, 0, cpus) {
		s32 err = scx_bpf_create_dsq(FIRST_DSQ + cpu, -1);

		if (err)
			return err;
	}
	return 0;
}

CALLBACK(void, wasteful_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(wasteful_ops,
	  .select_cpu = (void *)wasteful_select_cpu,
	  .enqueue = (void *)wasteful_enqueue,
	  .dispatch = (void *)wasteful_dispatch,
	  .init = (void *)wasteful_init,
	  .exit = (void *)wasteful_exit,
	  .name = "wasteful");
