// SPDX-License-Identifier: GPL-2.0-only
/*
 * mq: the HP multiqueue patch for Linux 2.4, complete.
 *
 * Policy. goodness, with a list for each CPU, of the tasks that last ran there, and one for real-time tasks, all under
 * the one lock. A CPU that needs a task first weighs the one it runs, if that continues, and the real-time tasks. Without
 * a real-time task it weighs its own list. If none of these has time left, it weighs the list of every other CPU and
 * steals the best of them all. If there is nothing to steal, all counters are recalculated, as in 2.4. In a list a task
 * weighs its counter, plus 1 if it shares the memory of the previous task, plus 20 - nice, but not the 15 for the CPU
 * that it last ran on, which only the running task still gets. A woken task goes to the list of its last CPU, and hops to
 * another's only if that CPU is idle and its own is not. A task that yields continues only if no other task may run.
 *
 * Source. The HP patch as ported to Linux 2.4.2-ac26 and measured by Fabio, linux-kernel, April 2001: its schedule(),
 * other_goodness(), reschedule_idle(), hop_queues(), setscheduler. The rest is 2.4's and shared with goodness. As there, running
 * tasks stay in their list, and a yield takes the lock once more. Real-time tasks are hinted. A change of a hint is noticed when
 * the task is queued next, or at the next tick if it runs; then it changes lists as by setscheduler.
 *
 * Weaknesses. Every CPU still waits for the one lock. A wakeup hardly ever preempts: the CPU that it notifies
 * looks into its own list, where the task may not be, and its running task has the 15, more than any counter
 * of nice 0. So a task that wakes among hogs waits for up to a turn, 60 ms. Nothing balances: a CPU steals
 * one task at a time, and only if none of its own has time left. A task bound to a CPU waits forever behind
 * one whose counter is always recalculated by other CPUs, with shorter turns, before it is used up.
 *
 * Read on in include/mq: queues, schedule, hotplug; and in include/goodness: types, weight, list, wakeup, tasks.
 */
#include "mq/hotplug.h"

LICENSE;

/* Why the scheduler ended, for user space. */
struct exit_record exit_record;

/* Every task that must wait comes through here: where it runs is decided in enqueue and dispatch. */
CALLBACK(s32, mq_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

/* The CPU in whose list a task waits: the one that it last ran on. Linux 2.4 knew no CPUs that leave or are forbidden. */
static __always_inline u32 home_of(struct task_struct *p, u32 number)
{
	struct slot *s = slot_at(number);

	return cpu_at(s->cpu)->offline || !may_use(number, s->cpu) ? scx_bpf_task_cpu(p) : s->cpu;
}

/* A preempted task keeps its place in its list, unless it belongs in another one by now. */
static __always_inline bool keeps_place(struct slot *s, u32 home, u64 enq_flags)
{
	if (!s->runs_on || enq_flags & SCX_ENQ_WAKEUP || s->leaving == TURN_OVER)
		return false;
	return s->queue == (s->rt.policy ? REALTIME_QUEUE : queue_of(home));
}

CALLBACK(void, mq_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	struct target target = { -1, false };
	bool yielded = s->leaving == YIELDING;
	u32 home = home_of(p, number);

	if (pass_on(p, number, enq_flags))
		return;
	s->rt = hint_of(p);
	s->mm = (u64)p->mm;
	s->weightless = false;

	bpf_spin_lock(&runqueue_lock.lock);
	if (s->linked && !keeps_place(s, home, enq_flags))
		unlink(number);
	if (!s->linked)
		add_to_runqueue(number, home);
	s->runs_on = 0;
	s->leaving = OUTWEIGHED;
	if (!yielded)
		target = reschedule_idle(number);
	if (target.is_idle && target.cpu != home && s->queue != REALTIME_QUEUE)
		hop_queues(number, target.cpu);
	bpf_spin_unlock(&runqueue_lock.lock);
	tell(p, target);
}

CALLBACK(void, mq_dispatch, s32 cpu, struct task_struct *prev)
{
	schedule(cpu, prev);
}

CALLBACK(void, mq_running, struct task_struct *p)
{
	run_here(p);
}

CALLBACK(void, mq_tick, struct task_struct *p)
{
	slot_at(slot_of(p))->rt = hint_of(p);
	take_tick(p);
	/* A kernel thread that serves this CPU and was handed to it does not wait for a counter. */
	if (scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL))
		set_slice(p, 0);
}

CALLBACK(void, mq_update_idle, s32 cpu, bool idle)
{
	note_idle(cpu, idle);
}

CALLBACK(bool, mq_yield, struct task_struct *from, struct task_struct *to)
{
	give_way(from);
	return false;
}

CALLBACK(void, mq_set_weight, struct task_struct *p, u32 weight)
{
	slot_at(slot_of(p))->nice = nice_of(p);
}

CALLBACK(void, mq_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	note_cpus(p);
}

SLEEPABLE(void, mq_cpu_offline, s32 cpu)
{
	leave_cpu(cpu);
	tell_others(cpu);
}

SLEEPABLE(void, mq_cpu_online, s32 cpu)
{
	cpu_comes(cpu);
}

CALLBACK(s32, mq_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return begin_task(p, args);
}

CALLBACK(void, mq_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	end_task(p);
}

CALLBACK(void, mq_disable, struct task_struct *p)
{
	unlink_if_linked(own_slot_of(p));
}

SLEEPABLE(s32, mq_init)
{
	return count_cpus();
}

CALLBACK(void, mq_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(mq_ops,
	  .select_cpu = (void *)mq_select_cpu,
	  .enqueue = (void *)mq_enqueue,
	  .dispatch = (void *)mq_dispatch,
	  .running = (void *)mq_running,
	  .tick = (void *)mq_tick,
	  .update_idle = (void *)mq_update_idle,
	  .yield = (void *)mq_yield,
	  .set_weight = (void *)mq_set_weight,
	  .set_cpumask = (void *)mq_set_cpumask,
	  .cpu_online = (void *)mq_cpu_online,
	  .cpu_offline = (void *)mq_cpu_offline,
	  .init_task = (void *)mq_init_task,
	  .exit_task = (void *)mq_exit_task,
	  .disable = (void *)mq_disable,
	  .init = (void *)mq_init,
	  .exit = (void *)mq_exit,
	  .flags = SCX_OPS_ENQ_LAST,
	  .name = "mq");
