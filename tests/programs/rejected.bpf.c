// SPDX-License-Identifier: GPL-2.0-only
/* A scheduler that the kernel does not take: SCX_OPS_ENQ_LAST asks for ops.enqueue(). */
#include "keel.h"

LICENSE;

CALLBACK(void, rejected_dispatch, s32 cpu, struct task_struct *prev)
{
}

SEC(".struct_ops") struct sched_ext_ops rejected_ops = {
	.dispatch = (void *)rejected_dispatch,
	.flags = SCX_OPS_ENQ_LAST,
	.name = "rejected",
};
