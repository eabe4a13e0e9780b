/* SPDX-License-Identifier: GPL-2.0-only */
/* goodness, last: schedule(), which examines every waiting task, in one list. */
#ifndef GOODNESS_SCHEDULE_H
#define GOODNESS_SCHEDULE_H

#include "tasks.h"

/*
 * The squeeze that o1's announcement accuses this scheduler of: counters are rebuilt only when no running task of
 * any CPU has time left either, and until then CPUs idle. The code of 2.4 looks at waiting tasks alone.
 */
const volatile bool squeeze = false;

static __always_inline struct list *list_of(u32 number)
{
	return &runqueue.list;
}

/*
 * Hands a kernel thread to its CPU. Unless it has just woken, it preempts no task, and the task that runs there
 * may never use up its counter, since other CPUs refill it. So that turn ends at the next tick. mq checks at each
 * tick instead; here it is a separate function, so that it changes no instruction for this scheduler's own tasks.
 */
static __noinline void pass_on_to_tick(struct task_struct *passed, u64 enq_flags)
{
	u32 curr = cpu_at(scx_bpf_task_cpu(passed))->curr;
	struct task_struct *p;

	pass_on(passed, NOBODY, enq_flags);
	if (enq_flags & SCX_ENQ_WAKEUP || curr == NOBODY || curr == slot_of(passed))
		return;
	p = bpf_task_from_pid(slot_at(curr)->pid);
	if (!p)
		return;
	set_slice(p, 1);
	bpf_task_release(p);
}

struct choice {
	u32 number;
	s32 weight;
};

/*
 * The best of `prev`, if it may continue, and all waiting tasks: among equals
 * `prev`, or, if its turn is over, the first in line. The lock is held.
 */
static __always_inline struct choice best_of_all(u32 prev, u32 cpu, u64 mm)
{
	struct choice best = { NOBODY, NO_WEIGHT };
	bool gives_way = slot_at(prev)->leaving != OUTWEIGHED;
	u32 number = runqueue.list.first;
	s32 i;

	if (prev != NOBODY) {
		best.number = prev;
		best.weight = goodness(slot_at(prev), cpu, mm);
	}
	for_range(i, 0, SLOTS) {
		struct slot *s = slot_at(number);

		if (number == NOBODY)
			break;
		if (!s->runs_on && may_use(number, cpu)) {
			s32 weight = goodness(s, cpu, mm);

			if (weight > best.weight || (gives_way && weight == best.weight && best.number == prev)) {
				best.weight = weight;
				best.number = number;
			}
		}
		number = s->next;
	}
	return best;
}

/* Whether a task that runs on another CPU has time left. */
static __always_inline bool time_left_elsewhere(u32 cpu)
{
	s32 i;

	for_range(i, 0, nr_cpus) {
		u32 curr = cpu_at(i)->curr;

		if (i != cpu && curr != NOBODY && slot_at(curr)->counter)
			return true;
	}
	return false;
}

/* Notifies every idle CPU that there are tasks with time again. */
static __always_inline void end_squeeze(void)
{
	s32 i;

	for_range(i, 0, nr_cpus)
		if (cpu_at(i)->curr == NOBODY)
			scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
}

/* A yield is valid for one choice. */
static __always_inline void end_yield(u32 prev)
{
	if (prev != NOBODY)
		slot_at(prev)->weightless = false;
}

/* schedule(): the task that `cpu` runs next. */
static __always_inline u32 choose(u32 cpu, u32 prev, u32 gone)
{
	struct cpu *here = cpu_at(cpu);
	struct choice best;

	bpf_spin_lock(&runqueue_lock.lock);
	leave_list(gone);
	best = best_of_all(prev, cpu, here->mm);
	if (best.weight == 0) {
		if (squeeze && time_left_elsewhere(cpu)) {
			here->curr = NOBODY;
			end_yield(prev);
			bpf_spin_unlock(&runqueue_lock.lock);
			return NOBODY;
		}
		bpf_spin_unlock(&runqueue_lock.lock);
		recalculations[cpu & (MAX_CPUS - 1)].times++;
		recalculate();
		if (squeeze)
			end_squeeze();
		bpf_spin_lock(&runqueue_lock.lock);
		best = best_of_all(prev, cpu, here->mm);
	}
	if (best.number != NOBODY && best.number != prev)
		slot_at(best.number)->runs_on = cpu + 1;
	/* Not earlier: the second pass, after the counters, still sees the same yield (__schedule_tail()). */
	end_yield(prev);
	here->curr = best.number;
	bpf_spin_unlock(&runqueue_lock.lock);
	return best.number;
}

#endif
