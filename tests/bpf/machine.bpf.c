// SPDX-License-Identifier: GPL-2.0-only
/* What sched_ext shows any program about the machine and its tasks, even if no scheduler is attached. */
#include "case.h"

STEPS(cpus, 8, 8, 8)
{
	const struct cpumask *mask;

	got[0] = scx_bpf_nr_cpu_ids();
	mask = scx_bpf_get_possible_cpumask();
	got[1] = bpf_cpumask_weight(mask);
	scx_bpf_put_cpumask(mask);
	mask = scx_bpf_get_online_cpumask();
	got[2] = bpf_cpumask_weight(mask);
	scx_bpf_put_cpumask(mask);
}

STEPS(the_current_task, 1, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();

	got[0] = scx_bpf_task_cpu(p) == bpf_get_smp_processor_id();
	got[1] = scx_bpf_task_running(p);
}

STEPS(the_clock, 0, 1)
{
	u64 first = scx_bpf_now(), wrong = 0, last = first;
	s32 i;

	for_range(i, 0, 100) {
		u64 now = scx_bpf_now();

		wrong += now < last;
		last = now;
	}
	got[0] = wrong;
	got[1] = first > 0;
}
