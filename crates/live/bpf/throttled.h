/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task that the kernel keeps off every CPU though it wants to run, since its group's `cpu.max` or its deadline budget is
 * used up, does not wait for a CPU. That it begins is seen when the task leaves its CPU or wakes up (record.bpf.c); that it
 * ends only the kernel's own functions show. Where they cannot be watched, the reader lets it end when the task runs.
 *
 * fentry, never fexit: a program that is called before a function leaves nothing on the stack when the function runs.
 */
#ifndef KEEL_THROTTLED_H
#define KEEL_THROTTLED_H

#include "kicks.h"
#include "tasks.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
/* A group's queues in newer kernels. */
struct task_group___percpu {
	struct cfs_rq *cfs_rq;
};

/* Only those kernels have it. */
struct cfs_tg_state {
	struct cfs_rq cfs_rq;
};

struct affinity_context {
	const struct cpumask *new_mask;
	unsigned int flags;
};
#pragma clang attribute pop

/* SCA_MIGRATE_DISABLE, SCA_MIGRATE_ENABLE: the task is bound to its CPU for a while, or no longer. */
#define FOR_A_WHILE 0x6

/* More tasks of one group on one CPU keep being throttled, as the reader sees it, until they run. */
#define MOST_FREED 4096

/*
 * The group whose `cpu.max` limits a task; 0 for a deadline task. Where one task of a group is throttled, the group's other
 * tasks cannot run either: so the reader knows which CPUs they could have used.
 */
static __always_inline u64 limited_group(struct task_struct *p)
{
	return is_out_of_quota(p) && bpf_core_field_exists(p->sched_task_group) ? (u64)p->sched_task_group : 0;
}

static __always_inline void tell_throttled(struct task_struct *p, bool on)
{
	emit(THROTTLED, on, bpf_get_smp_processor_id(), id_of(p), limited_group(p), 0, 0);
}

/* A group's queue on a runqueue's CPU; null where it is not where we look for it. */
static __always_inline struct cfs_rq *queue_of(struct task_group *group, struct rq *rq)
{
	struct cfs_rq *queue = NULL;

	if (bpf_core_type_exists(struct cfs_tg_state)) {
		struct task_group___percpu *root = (void *)BPF_CORE_READ(rq, cfs.tg);
		u64 own = (u64)rq + bpf_core_field_offset(struct rq, cfs);
		u64 distance = own - (u64)BPF_CORE_READ(root, cfs_rq);

		queue = (void *)((u64)BPF_CORE_READ((struct task_group___percpu *)group, cfs_rq) + distance);
	} else {
		struct cfs_rq **queues = BPF_CORE_READ(group, cfs_rq);

		bpf_probe_read_kernel(&queue, sizeof(queue), queues + (u32)BPF_CORE_READ(rq, cpu));
	}
	return BPF_CORE_READ(queue, tg) == group ? queue : NULL;
}

struct walk {
	struct list_head *head;
	struct list_head *node;
	u64 group;
};

static long tell_freed(u64 step, struct walk *walk)
{
	struct list_head *node = walk->node;

	if (!node || node == walk->head)
		return 1;
	emit(THROTTLED, 0, bpf_get_smp_processor_id(), (u64)node - bpf_core_field_offset(struct task_struct, throttle_node),
	     walk->group, 0, 0);
	walk->node = BPF_CORE_READ(node, next);
	return 0;
}

/*
 * A group and those below it may use CPU time again: this is called for each of them that does, on each CPU. Who is in its
 * list is about to be put on the runqueue, unless a limit above is met again at once.
 *
 * Runs: under the runqueue's lock with interrupts off; in a timer's or another CPU's interrupt, or in whoever changes a limit
 * or takes a CPU offline.
 * Reaches itself: no. It touches no limit and no queue.
 */
SEC("?fentry")
int BPF_PROG(on_quota, struct task_group *group, struct rq *rq)
{
	struct cfs_rq *queue = queue_of(group, rq);
	struct list_head *head;
	struct walk walk;

	if (!queue || BPF_CORE_READ(queue, throttle_count) != 1)
		return 0;
	head = (void *)queue + bpf_core_field_offset(struct cfs_rq, throttled_limbo_list);
	walk.head = head;
	walk.group = (u64)group;
	walk.node = BPF_CORE_READ(head, next);
	if (walk.node == head)
		return 0;
	bpf_loop(MOST_FREED, tell_freed, &walk, 0);
	tell_own_kick(BPF_CORE_READ(rq, cpu));
	return 0;
}

/*
 * A deadline task gets its budget for another period.
 *
 * Runs: under the runqueue's lock with interrupts off; mostly in a timer's interrupt.
 * Reaches itself: no. It touches no budget and no queue.
 */
SEC("?fentry")
int BPF_PROG(on_budget, struct sched_dl_entity *entity)
{
	struct task_struct *p = (void *)entity - bpf_core_field_offset(struct task_struct, dl);

	/* A server stands for a class, not for a task. */
	if (BPF_CORE_READ_BITFIELD(entity, dl_server) || !BPF_CORE_READ_BITFIELD(entity, dl_throttled))
		return 0;
	emit(THROTTLED, 0, bpf_get_smp_processor_id(), (u64)p, 0, 0, 0);
	tell_own_kick(BPF_CORE_READ(p, thread_info.cpu));
	return 0;
}

/*
 * Which CPUs a task may use changes, by itself, by another or for as long as it must not be moved: recorded at once,
 * for it may wait. One that is bound to its CPU just now gets the new ones later.
 *
 * Runs: under the task's lock and mostly its runqueue's, with interrupts off.
 * Reaches itself: no. A program pins the task it interrupts to its CPU by a count, and calls this at its end only if
 * the count was 0 and the task was bound meanwhile, which takes a switch; with interrupts off there is none.
 */
SEC("?fentry")
int BPF_PROG(on_affinity, struct task_struct *p, struct affinity_context *change)
{
	if (change->flags & FOR_A_WHILE || p->cpus_ptr == &p->cpus_mask)
		record_task(p, known_of(p), (struct cpumask *)change->new_mask, BY_EVENT);
	return 0;
}

#endif
