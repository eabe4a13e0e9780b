/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, ninth: moving tasks from one CPU's queue to another's. The task that would have to wait longest
 * moves first. Another CPU may take it in the meantime: on a real kernel one in five to ten moves fails.
 */
#ifndef CFS_MOVE_H
#define CFS_MOVE_H

#include "sched_groups.h"

/* sysctl_sched_nr_migrate: the maximum number of tasks of a queue that are considered. */
#define LOOKS 32
#define ITER_REV bpf_core_enum_value(enum scx_dsq_iter_flags, SCX_DSQ_ITER_REV)

/* An idle CPU that a task may use, in one set but not in the other; NO_CPU if there is none. */
__noinline u32 idle_for(u32 number, u32 id, u32 without)
{
	u32 c;
	s32 i;

	for_each_cpu(i, c, id)
		if (is_idle_cpu(c) && may_use(number, c) && !has_cpu(without, c))
			return c;
	return NO_CPU;
}

/*
 * Moves one task; its vruntime keeps its distance. The iterator points at it. The move may fail, because another CPU has just
 * taken the task; if it succeeds, the task may run before this code continues. So this only offers a vruntime and names the clock
 * it refers to: a task that has it was moved. And the task is counted at its destination only if no CPU has counted it since.
 */
#define move_task(it, p, number, from, to)                                                           \
	({                                                                                           \
		struct slot *___s = slot_at(number);                                                 \
		struct tally ___counted = ___s->tally;                                               \
		bool ___moved = false;                                                               \
                                                                                                     \
		if (!__sync_val_compare_and_swap(&___s->is_moving, 0, 1)) {                          \
			u64 ___vruntime = on_clock_of((p)->scx.dsq_vtime,                            \
						      clock_of(___s, (p)->scx.dsq_vtime), to);       \
                                                                                                     \
			offer(___s, ___vruntime, to);                                                \
			scx_bpf_dsq_move_set_vtime(it, ___vruntime);                                 \
			___moved = scx_bpf_dsq_move_vtime(it, p, dsq_of(to), 0);                     \
			if (!___moved)                                                               \
				___s->offered_clock = NO_CPU;                                        \
			___s->is_moving = 0;                                                         \
		}                                                                                    \
		if (___moved)                                                                        \
			count_move(number, &___counted, from, to);                                   \
		___moved;                                                                            \
	})

/*
 * detach_tasks(): moves this much load between two CPUs, and returns how many tasks moved. A CPU without tasks always takes
 * one. The search notes tasks that may not move here, and a CPU of group `id`, outside the busiest, that one could move to.
 */
__noinline int move_load(u32 here, u32 from, u32 to, u64 load, u32 id)
{
	struct search *found = search_at(here);
	struct task_struct *p;
	u32 looks = unknown_zero, moved = unknown_zero;

	found->nr_pinned = 0;
	found->other_dst = NO_CPU;
	bpf_rcu_read_lock();
	for_each_queued(it, p, dsq_of(from), ITER_REV) {
		u32 number = slot_of(p);
		u64 its_load = slot_at(number)->tally.load;

		if (looks++ >= LOOKS || !load)
			break;
		/* It is still on its way off its CPU, or must not leave it. */
		if (is_leaving_cpu(p) || p->migration_disabled)
			continue;
		/* task_hot(): its data is still in that CPU's cache. */
		if (newidle_gate && slot_at(number)->ran_until > found->hot_since)
			continue;
		if (!may_use(number, to)) {
			found->nr_pinned++;
			if (found->other_dst >= NO_CPU)
				found->other_dst = idle_for(number, id, found->busiest.id);
			continue;
		}
		if (its_load / 2 > load && runqueue_at(to)->nr_running)
			continue;
		if (!move_task(&it, p, number, from, to))
			continue;
		moved++;
		load -= its_load < load ? its_load : load;
	}
	bpf_rcu_read_unlock();
	if (moved && to != here)
		scx_bpf_kick_cpu(to, SCX_KICK_IDLE);
	return moved;
}

#endif
