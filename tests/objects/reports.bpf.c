// SPDX-License-Identifier: GPL-2.0-only
/*
 * It reports what it considers (policy.h), and considers too little: for a woken task, it looks at a few CPUs from
 * its last one on, and takes the first idle one or stays. A CPU that runs out of tasks compares the two halves of
 * the machine by the tasks that wait there, and takes one from its longest queue if that is in its own half.
 */
#include "keel.h"

/* On by default, so that a verifier sees all of it. */
#define TELL_POLICY 1
#include "policy.h"

LICENSE;

/* Setting: how many CPUs a woken task looks at. */
const volatile u32 reach = 2;

static u32 nr_cpus;

struct exit_record exit_record;

CALLBACK(s32, reports_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct policy_event *e = policy_begin(POLICY_WAKEUP, 0, bpf_get_smp_processor_id());
	s32 chosen = prev_cpu, step;

	for_range(step, 0, reach) {
		s32 cpu = prev_cpu + step;

		if (nr_cpus && (u32)cpu >= nr_cpus)
			cpu -= nr_cpus;
		policy_considered(e, cpu);
		if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && scx_bpf_test_and_clear_cpu_idle(cpu)) {
			chosen = cpu;
			break;
		}
	}
	policy_chose(e, p->pid, chosen);
	policy_tell(e);
	return chosen;
}

CALLBACK(void, reports_enqueue, struct task_struct *p, u64 enq_flags)
{
	insert(p, scx_bpf_task_cpu(p), SCX_SLICE_DFL, enq_flags);
}

/* The number of waiting tasks in a half of the machine, and its longest queue if it is longer than `most`. */
static __always_inline u32 waiting(struct policy_event *e, u32 half, s32 *busiest, s32 *most)
{
	u32 middle = nr_cpus / 2, sum = 0;
	s32 cpu;

	for_range(cpu, half ? middle : 0, half ? nr_cpus : middle) {
		s32 queued = scx_bpf_dsq_nr_queued(cpu);

		policy_considered(e, cpu);
		sum += queued;
		if (queued > *most) {
			*most = queued;
			*busiest = cpu;
		}
	}
	policy_group(e, sum * 1024, half ? middle : 0, half ? nr_cpus - middle : middle, sum);
	return sum;
}

CALLBACK(void, reports_dispatch, s32 cpu, struct task_struct *prev)
{
	enum policy_outcome outcome = POLICY_BALANCED;
	u32 own = cpu >= nr_cpus / 2, moved = 0;
	s32 busiest = -1, most = 0;
	struct policy_event *e;

	if (scx_bpf_dsq_move_to_local(cpu) || nr_cpus < 2)
		return;
	e = policy_begin(POLICY_NEWIDLE, 1, cpu);
	if (!waiting(e, own, &busiest, &most))
		outcome = POLICY_NOBODY;
	if (busiest >= 0) {
		moved = scx_bpf_dsq_move_to_local(busiest);
		outcome = moved ? POLICY_MOVED : POLICY_PINNED;
	}
	/* The other half is looked at, and left alone. */
	if (e) {
		s32 other = -1, length = 0;

		waiting(e, !own, &other, &length);
	}
	policy_outcome(e, outcome, busiest, moved);
	policy_tell(e);
}

SLEEPABLE(s32, reports_init)
{
	s32 cpu;

	nr_cpus = scx_bpf_nr_cpu_ids();
	for_range(cpu, 0, nr_cpus) {
		s32 failed = scx_bpf_create_dsq(cpu, -1);

		if (failed)
			return failed;
	}
	return 0;
}

CALLBACK(void, reports_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(reports_ops,
	  .select_cpu = (void *)reports_select_cpu,
	  .enqueue = (void *)reports_enqueue,
	  .dispatch = (void *)reports_dispatch,
	  .init = (void *)reports_init,
	  .exit = (void *)reports_exit,
	  .name = "reports");
