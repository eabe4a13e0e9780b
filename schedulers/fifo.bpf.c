// SPDX-License-Identifier: GPL-2.0-only
/*
 * fifo: one queue for the whole machine. The smallest useful scheduler; read it first.
 *
 * Policy. A task that wakes while some CPU is idle goes there at once. Otherwise it waits in the
 * one queue, and whichever CPU is free next takes the first. By default the queue is ordered by
 * vtime: time a task has run, divided by its weight, so that the CPUs are shared as nice values
 * ask. A task that slept keeps at most one slice of credit. With fifo=1 the order is that of
 * arrival, and weights don't count.
 *
 * Weaknesses. Every CPU takes one lock for every task it picks: throughput stops growing when
 * that lock is contended, which happens early on a large machine. The queue ignores caches and
 * nodes: a task runs next on any free CPU. Nothing preempts: a waiting task waits for up to a
 * slice per CPU. In FIFO order a task that always uses up its slice takes from all that don't.
 */
#include "keel.h"

LICENSE;

/* The number of the queue. Any number except 0, which would look like a mistake. */
#define SHARED_DSQ 1

/* Settings: how long a task may run at a time, and whether tasks run in order of arrival. */
const volatile u64 slice_ns = 20000000;
const volatile bool fifo = false;

/* The highest vtime of the tasks picked so far, roughly. It only grows. */
static u64 vtime_now;

/* Why the scheduler ended, for user space. */
struct exit_record exit_record;

CALLBACK(s32, fifo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	/* The CPU is claimed now. Insert straight into its local queue: enqueue is skipped. */
	if (is_idle)
		insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
	return cpu;
}

CALLBACK(void, fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 vtime = p->scx.dsq_vtime;

	if (fifo) {
		insert(p, SHARED_DSQ, slice_ns, enq_flags);
		return;
	}
	/* However long a task slept, it may be at most one slice ahead of the others. */
	if (vtime_before(vtime, vtime_now - slice_ns))
		vtime = vtime_now - slice_ns;
	insert_vtime(p, SHARED_DSQ, slice_ns, vtime, enq_flags);
}

CALLBACK(void, fifo_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

CALLBACK(void, fifo_running, struct task_struct *p)
{
	/* Two CPUs may race here; the loser's update comes with its next task. */
	if (vtime_before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

CALLBACK(void, fifo_stopping, struct task_struct *p, bool runnable)
{
	/* Weight 100 is nice 0. The slice shrinks as the task runs, so what is missing from it was used. */
	set_vtime(p, p->scx.dsq_vtime + (slice_ns - p->scx.slice) * 100 / p->scx.weight);
}

CALLBACK(void, fifo_enable, struct task_struct *p)
{
	/* A new task starts where the others are, with neither credit nor debt. */
	set_vtime(p, vtime_now);
}

SLEEPABLE(s32, fifo_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, fifo_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(fifo_ops,
	  .select_cpu = (void *)fifo_select_cpu,
	  .enqueue = (void *)fifo_enqueue,
	  .dispatch = (void *)fifo_dispatch,
	  .running = (void *)fifo_running,
	  .stopping = (void *)fifo_stopping,
	  .enable = (void *)fifo_enable,
	  .init = (void *)fifo_init,
	  .exit = (void *)fifo_exit,
	  .name = "fifo");
