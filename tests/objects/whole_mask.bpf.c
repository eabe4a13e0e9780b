// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it asks for all idle CPUs, although the kernel keeps a mask per node.
 */
#include "keel.h"

LICENSE;

CALLBACK(void, whole_mask_running, struct task_struct *p)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();

	scx_bpf_put_idle_cpumask(idle);
}

struct exit_record exit_record;

CALLBACK(void, whole_mask_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(whole_mask_ops,
	  .running = (void *)whole_mask_running,
	  .exit = (void *)whole_mask_exit,
	  .flags = SCX_OPS_BUILTIN_IDLE_PER_NODE,
	  .name = "whole_mask");
