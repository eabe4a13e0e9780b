// SPDX-License-Identifier: GPL-2.0-only
/*
 * stays: a scheduler whose own cost does not grow with the machine, for `./x bench`. A task's CPU is chosen by its
 * number when it is forked, and never again. CPUs share nothing except what the kernel itself shares.
 */
#include "keel.h"

LICENSE;

CALLBACK(s32, stays_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	if (wake_flags & SCX_WAKE_FORK)
		prev_cpu = p->pid % scx_bpf_nr_cpu_ids();
	insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return prev_cpu;
}

SCHEDULER(stays, .select_cpu = (void *)stays_select_cpu, .name = "stays");
