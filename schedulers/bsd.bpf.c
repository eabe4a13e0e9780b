// SPDX-License-Identifier: GPL-2.0-only
/*
 * bsd: FreeBSD's scheduler before ULE, the 'old sched' that ULE was measured against.
 *
 * Policy. One set of 64 queues for all CPUs, under one lock; four priorities share a queue. The first task of the best queue
 * runs, on whichever CPU asks. Every 100 ms each CPU puts its task behind its equals and takes the best again. A task's
 * priority is its nice value plus an eighth of its estcpu: the ticks, 128 a second, that found it running. Once a second
 * estcpu decays to 2 x load / (2 x load + 1) of itself, so nine tenths are forgotten in 5 x load seconds; for a task that
 * slept this is made up for when it wakes. A task wakes with the kernel's priority, ahead of all others, and has its own again
 * when it runs. If a CPU idles, that CPU takes it. Otherwise it preempts the task on the CPU that woke it, if that has a lower
 * priority. A child begins with its parent's estcpu, and hands what it has at exit to its parent. There is no affinity.
 *
 * Source. sys/kern/sched_4bsd.c and kern_switch.c of FreeBSD 5.0, January 2003. Approximate: all sleeps end
 * with one of the kernel's priorities, PWAIT, because their reason is not known here; idle CPUs, which in
 * FreeBSD poll the queues, are notified one by one; the load is updated every 5 s, without randomness; each
 * thread has its own estcpu. Hinted real-time tasks have the priorities of rtprio: three hints share one.
 *
 * Weaknesses. Every CPU waits for the one lock, and once a second all tasks are walked. Tasks run on whichever CPU is free
 * first, so caches stay cold. A wakeup preempts on no other CPU, whatever runs there; the task may wait up to 100 ms. A task
 * that sleeps briefly in each quantum runs ahead of all others when it wakes, however much CPU it used. When the machine
 * becomes busy, the load takes a minute to follow, and until then use is forgotten too soon, and nice values with it.
 *
 * Read on in include/bsd: types, priority, queues, clocks.
 */
#include "bsd/clocks.h"

LICENSE;

/* Why the scheduler ended, for user space. */
struct exit_record exit_record;

/* Every task that must wait comes through here: where it runs is decided in enqueue and dispatch. */
CALLBACK(s32, bsd_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

/* sched_wakeup() */
static __always_inline void wake(struct task_struct *p, struct slot *s)
{
	s->rt = hint_of(p);
	forget(s, second_of(scx_bpf_now()));
	s->priority = waking_priority ? WAKING_PRIORITY : user_priority(s);
}

CALLBACK(void, bsd_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	u32 here = bpf_get_smp_processor_id();
	bool wakes = enq_flags & SCX_ENQ_WAKEUP;
	bool stops = false;
	s32 cpu = scx_bpf_task_cpu(p);
	s32 idle;

	if (pass_on(p, number, enq_flags))
		return;
	if (wakes)
		wake(p, s);
	else
		s->priority = user_priority(s);
	s->asleep = false;

	bpf_spin_lock(&sched_lock.lock);
	if (s->linked)
		unlink(number);
	link(number);
	idle = idle_cpu_for(number, cpu);
	if (idle < 0 && wakes)
		stops = must_stop(number, here);
	bpf_spin_unlock(&sched_lock.lock);

	if (idle >= 0 && idle != cpu)
		kick(idle, SCX_KICK_IDLE);
	else if (stops)
		kick(here, SCX_KICK_PREEMPT);
}

CALLBACK(void, bsd_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 before = prev && is_queued(prev) ? slot_of(prev) : NOBODY;
	s32 i;

	/* The task we chose may have died, or been dequeued, in the meantime. */
	for_range(i, 0, 8) {
		u32 number = choose(cpu, before);

		if (number == NOBODY)
			return;
		if (number == before) {
			set_slice(prev, SCX_SLICE_INF);
			return;
		}
		if (hand_over(number, cpu))
			return;
	}
}

CALLBACK(void, bsd_running, struct task_struct *p)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	struct cpu *here = cpu_at(bpf_get_smp_processor_id());

	/* One of the kernel's own paths has picked the task. */
	unlink_if_linked(number);
	s->asleep = false;
	s->priority = user_priority(s);
	here->curr = number;
	here->priority = s->priority;
}

CALLBACK(void, bsd_stopping, struct task_struct *p, bool runnable)
{
	struct slot *s = slot_at(slot_of(p));

	if (runnable)
		return;
	forget(s, second_of(scx_bpf_now()));
	s->asleep = true;
}

CALLBACK(void, bsd_tick, struct task_struct *p)
{
	struct slot *s = slot_at(slot_of(p));
	struct cpu *here = cpu_at(bpf_get_smp_processor_id());
	u64 now = scx_bpf_now();

	charge(s, here, now);
	if (quantum_ends(here, now))
		set_slice(p, 0);
	once_a_second(now);
}

CALLBACK(void, bsd_update_idle, s32 cpu, bool idle)
{
	struct cpu *here = cpu_at(cpu);

	set_clocks(here, scx_bpf_now());
	/* A task may have notified this CPU since choose() cleared `notified` under the lock: keep that. */
	if (idle)
		here->curr = NOBODY;
}

/* Moves the task behind its equals. Does nothing if no task waits. */
CALLBACK(bool, bsd_yield, struct task_struct *from, struct task_struct *to)
{
	if (runq.nr_waiting)
		set_slice(from, 0);
	return false;
}

/* The kernel queues a waiting task again. */
CALLBACK(void, bsd_set_weight, struct task_struct *p, u32 weight)
{
	slot_at(slot_of(p))->nice = nice_of(p);
}

CALLBACK(void, bsd_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	note_cpus(p);
}

SLEEPABLE(void, bsd_cpu_offline, s32 cpu)
{
	s32 i;

	cpus_leave = true;
	cpu_at(cpu)->offline = true;
	bpf_spin_lock(&sched_lock.lock);
	for_range(i, 0, slots_used)
		if (slot_at(i)->linked)
			lose_home(i, cpu);
	bpf_spin_unlock(&sched_lock.lock);
	tell_others(cpu);
}

SLEEPABLE(void, bsd_cpu_online, s32 cpu)
{
	set_clocks(cpu_at(cpu), scx_bpf_now());
	cpu_at(cpu)->curr = NOBODY;
	cpu_at(cpu)->notified = false;
	cpu_at(cpu)->offline = false;
}

/* sched_fork() */
CALLBACK(s32, bsd_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 number = take_slot(p);
	struct slot *s = slot_at(number);

	if (number == NOBODY)
		return -NO_ROOM_ERRNO;
	s->pid = p->pid;
	s->nice = nice_of(p);
	s->everywhere = copy_cpus(number, p);
	s->second = second_of(scx_bpf_now());
	s->asleep = true;
	if (args->fork) {
		struct task_struct *current = bpf_get_current_task_btf();

		inherit_hint(p, current);
		s->estcpu = slot_at(slot_of(current))->estcpu;
	}
	s->rt = hint_of(p);
	return 0;
}

/* sched_exit() */
CALLBACK(void, bsd_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 number = own_slot_of(p);
	u32 parent = slot_of(p->real_parent);

	if (number == NOBODY)
		return;
	unlink_if_linked(number);
	if (parent != NOBODY)
		slot_at(parent)->estcpu = limited(slot_at(parent)->estcpu + slot_at(number)->estcpu);
	give_slot(p);
}

CALLBACK(void, bsd_disable, struct task_struct *p)
{
	unlink_if_linked(own_slot_of(p));
}

SLEEPABLE(s32, bsd_init)
{
	s32 i;

	for_range(i, 0, MAX_CPUS)
		set_clocks(cpu_at(i), scx_bpf_now());
	return count_cpus();
}

CALLBACK(void, bsd_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(bsd_ops,
	  .select_cpu = (void *)bsd_select_cpu,
	  .enqueue = (void *)bsd_enqueue,
	  .dispatch = (void *)bsd_dispatch,
	  .running = (void *)bsd_running,
	  .stopping = (void *)bsd_stopping,
	  .tick = (void *)bsd_tick,
	  .update_idle = (void *)bsd_update_idle,
	  .yield = (void *)bsd_yield,
	  .set_weight = (void *)bsd_set_weight,
	  .set_cpumask = (void *)bsd_set_cpumask,
	  .cpu_online = (void *)bsd_cpu_online,
	  .cpu_offline = (void *)bsd_cpu_offline,
	  .init_task = (void *)bsd_init_task,
	  .exit_task = (void *)bsd_exit_task,
	  .disable = (void *)bsd_disable,
	  .init = (void *)bsd_init,
	  .exit = (void *)bsd_exit,
	  .flags = SCX_OPS_ENQ_LAST,
	  .name = "bsd");
