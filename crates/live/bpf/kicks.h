/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An idle CPU is notified that there is work. Busy ones show it by their switches.
 *
 * The kernel has a tracepoint for just that, sched_set_need_resched_tp, and no program may be attached to it: a program's
 * end (rcu_read_unlock_special()) may ask for a reschedule of its own CPU, which calls the tracepoint again before
 * the flag is set that would stop it, until the stack is full. So we listen where a CPU notifies another: there the
 * flag is set already, and what a program's end asks for concerns its own CPU, which needs neither an interrupt nor a
 * poll.
 */
#ifndef KEEL_KICKS_H
#define KEEL_KICKS_H

#include "ring.h"

static __always_inline u32 in_the_midst_of(void)
{
	if (!&__preempt_count)
		return 0;
	return *(int *)bpf_this_cpu_ptr(&__preempt_count);
}

/*
 * A CPU is made to leave its idle loop for timers and remote calls, too. It is work if a task is there or on its way,
 * or if an interrupt requests it, as sched_ext does for a scheduler that keeps the task in a queue of its own.
 */
static __always_inline void tell_kick(u32 target)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, target);

	if (!rq || rq->curr != rq->idle)
		return;
	if (rq->nr_running || rq->ttwu_pending || in_the_midst_of() & IN_HARDIRQ_OR_NMI)
		emit(KICK, 0, bpf_get_smp_processor_id(), 0, 0, 0, target);
}

/* What comes to an idle CPU by that CPU's own doing: no interrupt notifies it, and a moment later it switches. */
static __always_inline void tell_own_kick(u32 target)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (target == bpf_get_smp_processor_id() && !me->pid)
		emit(KICK, 0, target, 0, 0, 0, target);
}

/*
 * Runs: in any context but NMI, often under the target's runqueue lock with interrupts off.
 * Reaches itself: no. Only a CPU that notifies another one calls it; see above.
 */
SEC("?tp_btf/sched_wake_idle_without_ipi")
int BPF_PROG(on_poll, int cpu)
{
	tell_kick(cpu);
	return 0;
}

/*
 * Runs: as on_poll. Without a callback it is a reschedule interrupt.
 * Reaches itself: no. irq_work for the own CPU, the ring's and RCU's, interrupts the CPU past this tracepoint.
 */
SEC("?tp_btf/ipi_send_cpu")
int BPF_PROG(on_interrupt, unsigned int cpu, unsigned long callsite, void *callback)
{
	if (!callback)
		tell_kick(cpu);
	return 0;
}

#endif
