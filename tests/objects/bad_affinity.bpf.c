// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it dispatches a task to the local queue of a CPU that the task may not use: tasks that
 * may run on one CPU only go to the CPU after it.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1

struct exit_record exit_record;

CALLBACK(void, bad_affinity_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (p->nr_cpus_allowed == 1) {
		u32 next = (scx_bpf_task_cpu(p) + 1) % scx_bpf_nr_cpu_ids();

		insert(p, SCX_DSQ_LOCAL_ON | next, SCX_SLICE_DFL, enq_flags);
		return;
	}
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, bad_affinity_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, bad_affinity_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, bad_affinity_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(bad_affinity_ops,
	  .enqueue = (void *)bad_affinity_enqueue,
	  .dispatch = (void *)bad_affinity_dispatch,
	  .init = (void *)bad_affinity_init,
	  .exit = (void *)bad_affinity_exit,
	  .name = "bad_affinity");
