// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: no task runs at once. Every task that becomes runnable waits for some time, even
 * if all CPUs are idle. Only kernel threads are let through. Otherwise this is fifo.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define PF_KTHREAD 0x00200000
#define CLOCK_MONOTONIC 1

/* How long each task waits, and the interval of the search for tasks that have waited long enough. */
const volatile u64 hold_ns = 3000000;
const volatile u64 look_ns = 1000000;

struct alarm {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct alarm);
} alarms SEC(".maps");

struct exit_record exit_record;

/* The kernel's own choice would send the task straight to an idle CPU. */
CALLBACK(s32, tardy_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

CALLBACK(void, tardy_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 due = bpf_ktime_get_ns();

	if (!(p->flags & PF_KTHREAD))
		due += hold_ns;
	insert_vtime(p, SHARED_DSQ, SCX_SLICE_DFL, due, enq_flags);
}

/* The queue is ordered by when each may run. */
static bool somebody_is_due(void)
{
	struct task_struct *p;
	bool due = false;

	for_each_queued(it, p, SHARED_DSQ, 0) {
		due = !vtime_before(bpf_ktime_get_ns(), p->scx.dsq_vtime);
		break;
	}
	return due;
}

CALLBACK(void, tardy_dispatch, s32 cpu, struct task_struct *prev)
{
	if (somebody_is_due())
		scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

/* Idle CPUs check the queue only when they are notified. */
static int look(void *map, u32 *key, struct alarm *alarm)
{
	u32 cpus = scx_bpf_nr_cpu_ids();
	s32 cpu;

	if (somebody_is_due())
		for_range(cpu, 0, cpus)
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	bpf_timer_start(&alarm->timer, look_ns, 0);
	return 0;
}

SLEEPABLE(s32, tardy_init)
{
	u32 first = 0;
	struct alarm *alarm = bpf_map_lookup_elem(&alarms, &first);
	s32 err = scx_bpf_create_dsq(SHARED_DSQ, -1);

	if (err || !alarm)
		return err;
	bpf_timer_init(&alarm->timer, &alarms, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&alarm->timer, look);
	return bpf_timer_start(&alarm->timer, look_ns, 0);
}

CALLBACK(void, tardy_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(tardy_ops,
	  .select_cpu = (void *)tardy_select_cpu,
	  .enqueue = (void *)tardy_enqueue,
	  .dispatch = (void *)tardy_dispatch,
	  .init = (void *)tardy_init,
	  .exit = (void *)tardy_exit,
	  .name = "tardy");
