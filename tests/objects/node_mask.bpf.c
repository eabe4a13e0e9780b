// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it asks for the idle CPUs of a node, although the kernel keeps one mask for all.
 */
#include "keel.h"

LICENSE;

CALLBACK(void, node_mask_running, struct task_struct *p)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask_node(0);

	scx_bpf_put_idle_cpumask(idle);
}

struct exit_record exit_record;

CALLBACK(void, node_mask_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(node_mask_ops,
	  .running = (void *)node_mask_running,
	  .exit = (void *)node_mask_exit,
	  .name = "node_mask");
