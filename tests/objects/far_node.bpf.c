// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it asks for the idle cores of a node that does not exist.
 */
#include "keel.h"

LICENSE;

CALLBACK(void, far_node_running, struct task_struct *p)
{
	const struct cpumask *idle = scx_bpf_get_idle_smtmask_node(9999);

	scx_bpf_put_idle_cpumask(idle);
}

struct exit_record exit_record;

CALLBACK(void, far_node_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(far_node_ops,
	  .running = (void *)far_node_running,
	  .exit = (void *)far_node_exit,
	  .flags = SCX_OPS_BUILTIN_IDLE_PER_NODE,
	  .name = "far_node");
