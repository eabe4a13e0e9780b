// SPDX-License-Identifier: GPL-2.0-only
/*
 * goodness: the scheduler of Linux 2.4, whole.
 *
 * Policy. One list of all waiting tasks, and one lock. A CPU that needs a task weighs every one of
 * them (goodness): nothing while its counter is used up, else the counter, 15 more where it ran last
 * on this CPU, 1 more where it shares the memory of the task before, and 20 - nice. The counter is
 * a task's time, in ticks of 10 ms; a tick takes one from whoever runs. When nobody whom this CPU may
 * take, nor its own task, weighs anything, every task of the machine, asleep ones too, gets half of
 * what it has left and its nice value's ticks anew. Whoever wakes goes to its last CPU if that
 * idles, else to the CPU that has idled longest, else it preempts where it outweighs the running
 * task most. A child halves its parent's counter, and what it leaves goes back. sched_yield() makes a task
 * weigh nothing, once. Hinted real-time tasks weigh 1000 and their priority.
 *
 * Source. kernel/sched.c of Linux 2.4 (HZ 100): schedule(), goodness(), reschedule_idle(),
 * sys_sched_yield(), update_process_times(), do_fork(), release_task(). The lock is taken as often as there:
 * by the switch, and for the task that was put back, which there means reschedule_idle() or, after a
 * yield, a move to the list's end. Tasks that run are not on our list; nobody could take them there either.
 *
 * Weaknesses. A decision costs what all waiting tasks cost, and a recalculation what all tasks
 * cost; every CPU waits for the one lock. Two tasks that wake at once may both be sent to one idle CPU, while
 * the next one idles on. Whoever has used its counter up waits until all others have, so tasks
 * bounce to whichever CPU still finds something. On nohz_full CPUs, where ticks stop, nobody's
 * counter falls.
 *
 * Read on in include/goodness: types, list, schedule.
 */
#include "goodness/schedule.h"

LICENSE;

/* Why it ended, for user space. */
struct exit_record exit_record;

/* Everybody comes through here who is to wait: where it runs is decided in enqueue and dispatch. */
CALLBACK(s32, goodness_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

CALLBACK(void, goodness_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	struct target target = { -1, false };
	u8 leaving = s->leaving;

	if (number == NOBODY || is_bound_kthread(p)) {
		u64 preempt = enq_flags & SCX_ENQ_WAKEUP ? SCX_ENQ_PREEMPT : 0;

		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags | preempt);
		return;
	}
	if (enq_flags & SCX_ENQ_WAKEUP)
		s->rt = hint_of(p);
	s->mm = (u64)p->mm;
	s->leaving = OUTWEIGHED;
	s->weightless = false;

	bpf_spin_lock(&runqueue_lock.lock);
	if (s->linked)
		unlink(number);
	link(number, leaving != OUTWEIGHED);
	if (leaving != YIELDING)
		target = reschedule_idle(number);
	bpf_spin_unlock(&runqueue_lock.lock);

	/* The kernel itself tells an idle CPU of a task that comes to it. */
	if (target.cpu < 0 || (target.is_idle && target.cpu == scx_bpf_task_cpu(p)))
		return;
	scx_bpf_kick_cpu(target.cpu, target.is_idle ? SCX_KICK_IDLE : SCX_KICK_PREEMPT);
}

CALLBACK(void, goodness_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 before = prev && is_queued(prev) ? slot_of(prev) : NOBODY;
	s32 i;

	if (before != NOBODY) {
		struct slot *s = slot_at(before);

		if (s->rt.policy == HINT_RR && !s->counter) {
			s->counter = ticks_of(s->nice);
			s->leaving = TURN_OVER;
		}
	}
	/* Whom we chose may have died, or been taken out of our hands, meanwhile. */
	for_range(i, 0, 8) {
		u32 number = choose(cpu, before);
		struct task_struct *p;
		bool stays;

		if (number == NOBODY)
			return;
		if (number == before) {
			slot_at(before)->leaving = OUTWEIGHED;
			set_slice(prev, SCX_SLICE_INF);
			return;
		}
		p = bpf_task_from_pid(slot_at(number)->pid);
		if (!p)
			continue;
		stays = slot_at(number)->homeless || is_leaving_cpu(p);
		insert(p, stays ? SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(p) : SCX_DSQ_LOCAL, SCX_SLICE_INF, 0);
		bpf_task_release(p);
		if (!stays)
			return;
	}
}

CALLBACK(void, goodness_running, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu *here = cpu_at(cpu);
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);

	/* It came by a way of the kernel's own. */
	unlink_if_linked(number);
	here->curr = number;
	if (s->mm)
		here->mm = s->mm;
	s->cpu = cpu;
}

/* Which 10 ms this is for a CPU: they don't tick together. */
static __always_inline u64 tick_of(u32 cpu)
{
	return (scx_bpf_now() + TICK_NS * cpu / MAX_CPUS) / TICK_NS;
}

/* update_process_times(): takes a tick from whoever it hits, and needs no lock for it. */
CALLBACK(void, goodness_tick, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu *here = cpu_at(cpu);
	struct slot *s = slot_at(slot_of(p));
	u64 tick = tick_of(cpu);

	if (tick == here->tick)
		return;
	here->tick = tick;
	if (s->counter > 1) {
		s->counter--;
		return;
	}
	s->counter = 0;
	set_slice(p, 0);
}

CALLBACK(void, goodness_update_idle, s32 cpu, bool idle)
{
	struct cpu *here = cpu_at(cpu);

	here->tick = tick_of(cpu);
	if (idle) {
		here->curr = NOBODY;
		here->idle_since = scx_bpf_now();
	}
}

/* sys_sched_yield(): nothing happens where nobody waits. */
CALLBACK(bool, goodness_yield, struct task_struct *from, struct task_struct *to)
{
	struct slot *s = slot_at(slot_of(from));

	if (!nr_waiting)
		return false;
	s->leaving = YIELDING;
	s->weightless = !s->rt.policy;
	set_slice(from, 0);
	return false;
}

CALLBACK(void, goodness_set_weight, struct task_struct *p, u32 weight)
{
	slot_at(slot_of(p))->nice = nice_of(p);
}

CALLBACK(void, goodness_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	u32 number = slot_of(p);

	slot_at(number)->everywhere = copy_cpus(number, p);
	slot_at(number)->homeless = false;
}

/*
 * Who waits and may use no CPU but this one would wait for ever. Any CPU may take such a task now, and hands it to the
 * CPU that it is still counted at, where the kernel finds it a new home.
 */
SLEEPABLE(void, goodness_cpu_offline, s32 cpu)
{
	u32 number;
	s32 i;

	cpu_at(cpu)->offline = true;
	bpf_spin_lock(&runqueue_lock.lock);
	number = first;
	for_range(i, 0, SLOTS) {
		struct slot *s = slot_at(number);

		if (number == NOBODY)
			break;
		if (!s->everywhere && slot_allows(number, cpu)) {
			s->everywhere = true;
			s->homeless = true;
		}
		number = s->next;
	}
	bpf_spin_unlock(&runqueue_lock.lock);
	for_range(i, 0, nr_cpus)
		if (i != cpu)
			scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
}

SLEEPABLE(void, goodness_cpu_online, s32 cpu)
{
	cpu_at(cpu)->curr = NOBODY;
	cpu_at(cpu)->offline = false;
}

/* do_fork(): parent and child share what the parent has left. */
CALLBACK(s32, goodness_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 number = take_slot(p);
	struct slot *s = slot_at(number);

	if (number == NOBODY)
		return -NO_ROOM_ERRNO;
	s->pid = p->pid;
	s->nice = nice_of(p);
	s->mm = (u64)p->mm;
	s->cpu = scx_bpf_task_cpu(p);
	s->everywhere = copy_cpus(number, p);
	s->counter = ticks_of(s->nice);
	if (args->fork) {
		struct task_struct *current = bpf_get_current_task_btf();
		u32 parent = slot_of(current);

		inherit_hint(p, current);
		if (parent != NOBODY) {
			s->counter = (slot_at(parent)->counter + 1) >> 1;
			slot_at(parent)->counter >>= 1;
		}
	}
	s->rt = hint_of(p);
	return 0;
}

/* release_task(): what the dead task has left is its parent's. */
CALLBACK(void, goodness_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 number = own_slot_of(p);
	u32 parent = slot_of(p->real_parent);

	if (number == NOBODY)
		return;
	unlink_if_linked(number);
	if (parent != NOBODY) {
		s32 counter = slot_at(parent)->counter + slot_at(number)->counter;

		slot_at(parent)->counter = counter < MAX_COUNTER ? counter : MAX_COUNTER;
	}
	give_slot(p);
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
