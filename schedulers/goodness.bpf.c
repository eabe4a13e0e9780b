// SPDX-License-Identifier: GPL-2.0-only
/*
 * goodness: the scheduler of Linux 2.4, complete.
 *
 * Policy. One list of all runnable tasks, and one lock. A CPU that needs a task weighs every one of them
 * (goodness): 0 if its counter is used up, else the counter, plus 15 if it last ran on this CPU, plus 1
 * if it shares the memory of the previous task, plus 20 - nice. The counter is a task's time, in ticks
 * of 10 ms; a tick takes one from the running task. When no task that this CPU may take weighs anything,
 * every task of the machine, sleeping ones too, keeps half of what it has left and gets its nice value's
 * ticks on top. A woken task goes to its last CPU if that is idle, else to the CPU that has idled
 * longest, else it preempts where it outweighs the running task most. A child takes half of its parent's
 * counter; what it has left at its end goes back. After sched_yield() a task weighs -1 once, less than
 * one without time, so it alone causes no recalculation. Real-time hints weigh 1000 plus their priority.
 *
 * Source. kernel/sched.c of Linux 2.4 (HZ 100): schedule(), goodness(), reschedule_idle(),
 * sys_sched_yield(), update_process_times(), do_fork(), release_task(). The lock is taken as often as there:
 * by the switch, and for the task that was put back, which there means reschedule_idle() or, after a
 * yield, a move to the list's end. Running tasks stay in the list, and a walk passes over them.
 *
 * Weaknesses. The cost of a decision grows with the runnable tasks, that of a recalculation with all
 * tasks, and every CPU waits for the one lock. Two tasks that wake at once may both go to one idle CPU,
 * while the next one stays idle. A task that has used up its counter waits until all others have, so
 * tasks bounce to whichever CPU still has time to give. A task that may use few CPUs can wait for as long
 * as the tasks there don't use up their counters, because other CPUs' recalculations fill them again. On
 * nohz_full CPUs, where ticks stop, no counter falls.
 *
 * Read on in include/goodness: types, weight, list, wakeup, tasks, schedule.
 */
#include "goodness/schedule.h"

LICENSE;

/* Why the scheduler ended, for user space. */
struct exit_record exit_record;

/* Every task that must wait comes through here: where it runs is decided in enqueue and dispatch. */
CALLBACK(s32, goodness_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

CALLBACK(void, goodness_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	struct target target = { -1, false };
	bool was_running = s->runs_on && !(enq_flags & SCX_ENQ_WAKEUP);
	u8 leaving = s->leaving;

	if (is_the_kernels(p, number)) {
		pass_on_to_tick(p, enq_flags);
		return;
	}
	if (enq_flags & SCX_ENQ_WAKEUP)
		s->rt = hint_of(p);
	s->mm = (u64)p->mm;
	s->leaving = OUTWEIGHED;
	s->weightless = false;

	bpf_spin_lock(&runqueue_lock.lock);
	/* A preempted task keeps its place. */
	if (s->linked && !(was_running && leaving == OUTWEIGHED))
		unlink(number);
	if (!s->linked)
		link(number, leaving != OUTWEIGHED);
	s->runs_on = 0;
	if (leaving != YIELDING)
		target = reschedule_idle(number);
	bpf_spin_unlock(&runqueue_lock.lock);
	tell(p, target);
}

CALLBACK(void, goodness_dispatch, s32 cpu, struct task_struct *prev)
{
	schedule(cpu, prev);
}

CALLBACK(void, goodness_running, struct task_struct *p)
{
	run_here(p);
}

CALLBACK(void, goodness_tick, struct task_struct *p)
{
	take_tick(p);
}

CALLBACK(void, goodness_update_idle, s32 cpu, bool idle)
{
	note_idle(cpu, idle);
}

CALLBACK(bool, goodness_yield, struct task_struct *from, struct task_struct *to)
{
	give_way(from);
	return false;
}

CALLBACK(void, goodness_set_weight, struct task_struct *p, u32 weight)
{
	slot_at(slot_of(p))->nice = nice_of(p);
}

CALLBACK(void, goodness_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	note_cpus(p);
}

SLEEPABLE(void, goodness_cpu_offline, s32 cpu)
{
	u32 number;
	s32 i;

	cpus_leave = true;
	cpu_at(cpu)->offline = true;
	bpf_spin_lock(&runqueue_lock.lock);
	number = runqueue.list.first;
	for_range(i, 0, SLOTS) {
		if (number == NOBODY)
			break;
		if (!slot_at(number)->runs_on)
			lose_home(number, cpu);
		number = slot_at(number)->next;
	}
	bpf_spin_unlock(&runqueue_lock.lock);
	tell_others(cpu);
}

SLEEPABLE(void, goodness_cpu_online, s32 cpu)
{
	cpu_comes(cpu);
}

CALLBACK(s32, goodness_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return begin_task(p, args);
}

CALLBACK(void, goodness_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	end_task(p);
}

CALLBACK(void, goodness_disable, struct task_struct *p)
{
	unlink_if_linked(own_slot_of(p));
}

SLEEPABLE(s32, goodness_init)
{
	return count_cpus();
}

CALLBACK(void, goodness_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(goodness_ops,
	  .select_cpu = (void *)goodness_select_cpu,
	  .enqueue = (void *)goodness_enqueue,
	  .dispatch = (void *)goodness_dispatch,
	  .running = (void *)goodness_running,
	  .tick = (void *)goodness_tick,
	  .update_idle = (void *)goodness_update_idle,
	  .yield = (void *)goodness_yield,
	  .set_weight = (void *)goodness_set_weight,
	  .set_cpumask = (void *)goodness_set_cpumask,
	  .cpu_online = (void *)goodness_cpu_online,
	  .cpu_offline = (void *)goodness_cpu_offline,
	  .init_task = (void *)goodness_init_task,
	  .exit_task = (void *)goodness_exit_task,
	  .disable = (void *)goodness_disable,
	  .init = (void *)goodness_init,
	  .exit = (void *)goodness_exit,
	  .flags = SCX_OPS_ENQ_LAST,
	  .name = "goodness");
