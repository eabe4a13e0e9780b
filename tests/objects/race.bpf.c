// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: two CPUs want the same task. Each CPU walks the shared queue from its head and moves
 * the first task that it may run to its own local queue; between the look and the move another
 * CPU may have taken it. Losing is not an error: it is counted, and a simulator in which callbacks
 * never overlap counts none.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
u64 nr_moved;
u64 nr_lost;

struct exit_record exit_record;

CALLBACK(void, race_enqueue, struct task_struct *p, u64 enq_flags)
{
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, race_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *p;

	for_each_queued(it, p, SHARED_DSQ, 0) {
		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		if (scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL_ON | cpu, 0)) {
			__sync_fetch_and_add(&nr_moved, 1);
			break;
		}
		__sync_fetch_and_add(&nr_lost, 1);
	}
}

SLEEPABLE(s32, race_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, race_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(race_ops,
	  .enqueue = (void *)race_enqueue,
	  .dispatch = (void *)race_dispatch,
	  .init = (void *)race_init,
	  .exit = (void *)race_exit,
	  .name = "race");
