/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * goodness, fifth: what happens to tasks and CPUs apart from decisions. Callbacks
 * only do these; which task a CPU runs is decided by the scheduler's choose().
 */
#ifndef GOODNESS_TASKS_H
#define GOODNESS_TASKS_H

#include "wakeup.h"

/* The task that `cpu` runs next; `prev` may continue if it is one. A task that went to sleep leaves its list: `gone`. */
static __always_inline u32 choose(u32 cpu, u32 prev, u32 gone);

/* del_from_runqueue(), as schedule() does it. The lock is held. */
static __always_inline void leave_list(u32 gone)
{
	if (gone != NOBODY && slot_at(gone)->linked)
		unlink(gone);
}

/* The CPU that reschedule_idle() found must reschedule at once. The kernel itself notifies an idle CPU of a task queued to it. */
static __always_inline void tell(struct task_struct *p, struct target target)
{
	if (target.cpu < 0 || (target.is_idle && target.cpu == scx_bpf_task_cpu(p)))
		return;
	kick(target.cpu, target.is_idle ? SCX_KICK_IDLE : SCX_KICK_PREEMPT);
}

/* A round-robin task whose turn is over gets another one, behind its equals. */
static __always_inline void end_turn(u32 number)
{
	if (number != NOBODY) {
		struct slot *s = slot_at(number);

		if (s->rt.policy == HINT_RR && !s->counter) {
			s->counter = ticks_of(s->nice);
			s->leaving = TURN_OVER;
		}
	}
}

/* schedule(): `cpu` needs a task. */
static __always_inline void schedule(s32 cpu, struct task_struct *prev)
{
	u32 before = prev && is_queued(prev) ? slot_of(prev) : NOBODY;
	u32 gone = prev && !is_queued(prev) ? own_slot_of(prev) : NOBODY;
	s32 i;

	end_turn(before);
	/* The task we chose may have died, or been dequeued, in the meantime. */
	for_range(i, 0, 8) {
		u32 number = choose(cpu, before, gone);

		if (number == NOBODY)
			return;
		if (number == before) {
			slot_at(before)->leaving = OUTWEIGHED;
			set_slice(prev, SCX_SLICE_INF);
			return;
		}
		if (hand_over(number, cpu))
			return;
	}
}

/* A task runs, perhaps picked by a path of the kernel's own. */
static __always_inline void run_here(struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu *here = cpu_at(cpu);
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);

	here->curr = number;
	s->runs_on = cpu + 1;
	if (s->mm)
		here->mm = s->mm;
	s->cpu = cpu;
}

/* The current 10 ms interval of a CPU: CPUs don't tick at the same moment. */
static __always_inline u64 tick_of(u32 cpu)
{
	return (scx_bpf_now() + TICK_NS * cpu / MAX_CPUS) / TICK_NS;
}

/* update_process_times(): takes a tick from the running task, and needs no lock for that. */
static __always_inline void take_tick(struct task_struct *p)
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

static __always_inline void note_idle(s32 cpu, bool idle)
{
	struct cpu *here = cpu_at(cpu);

	here->tick = tick_of(cpu);
	if (idle) {
		here->curr = NOBODY;
		here->idle_since = scx_bpf_now();
	}
}

/* Whether any task waits. Lists contain running tasks too: one for each CPU that isn't idle. */
static __always_inline bool somebody_waits(void)
{
	s32 pending = runqueue.nr_running;
	s32 i;

	for_range(i, 0, nr_cpus)
		if (cpu_at(i)->curr != NOBODY)
			pending--;
	return pending > 0;
}

/* sys_sched_yield(): does nothing if no task waits. */
static __always_inline void give_way(struct task_struct *from)
{
	struct slot *s = slot_at(slot_of(from));

	if (!somebody_waits())
		return;
	s->leaving = YIELDING;
	s->weightless = !s->rt.policy;
	set_slice(from, 0);
}

static __always_inline void cpu_comes(s32 cpu)
{
	cpu_at(cpu)->curr = NOBODY;
	cpu_at(cpu)->offline = false;
}

/* do_fork(): parent and child share the parent's remaining ticks. */
static __always_inline s32 begin_task(struct task_struct *p, struct scx_init_task_args *args)
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

/* release_task(): the dead task's remaining ticks go to its parent. */
static __always_inline void end_task(struct task_struct *p)
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

#endif
