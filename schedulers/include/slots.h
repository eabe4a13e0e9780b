/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What schedulers with queues of their own share: a numbered slot for every task, so that a
 * queue is a list of numbers in an array, and every operation on it is a load or a store.
 *
 * An operation on the kernel's own queues costs a call, and they have no goodness and no
 * second array. A list in an array belongs to the scheduler: it is walked and changed under
 * a bpf_spin_lock, in which the verifier allows no call. So whatever a decision needs to
 * know about a task (nice value, CPUs, memory) is copied into its slot when the kernel
 * reports a change, and the task itself is looked up by its pid once the lock is released.
 *
 * Whoever includes this says first what its slots hold: struct slot.
 */
#ifndef KEEL_SLOTS_H
#define KEEL_SLOTS_H

#include "keel.h"

/* The maximum number of live tasks, and of pids: a kernel's PID_MAX_LIMIT. Powers of two, to bound an index by a mask. */
#define SLOTS (1 << 17)
#define PIDS (1 << 22)
/* The maximum number of CPUs. Larger machines are rejected. */
#define MAX_CPUS 1024
#define CPU_WORDS (MAX_CPUS / 64)

/* Slot 0 belongs to no task: it marks the end of a list, or an idle CPU. */
#define NOBODY 0

#define LINE __attribute__((aligned(64)))

/* A lock in a cache line of its own; global data must also give it a section of its own. */
struct line_lock {
	struct bpf_spin_lock lock;
	u32 rest_of_line[15];
};
#define LOCK(name) struct line_lock name LINE SEC(".data." #name) = {}

/* How often each CPU did something, for readers of a scheduler's variables: one cache line per CPU. */
struct count {
	u64 times;
} LINE;
#define COUNTER(name) struct count name[MAX_CPUS] LINE

#define SECOND_NS 1000000000ULL
#define MSEC_NS 1000000ULL

#define PF_KTHREAD 0x00200000
#define SCX_TASK_QUEUED 1
#define NOT_FOUND_ERRNO 3
#define NO_ROOM_ERRNO 28
#define TOO_BIG_ERRNO 7

/* Which task has a slot. The task's address is only a number here, to compare. */
struct owner {
	u64 task;
	u32 next_free;
};

/* Stands for the tasks' structures: on machines where these evict each other from caches, so do slots. */
static struct slot slots[SLOTS] LINE SEC(".bss.tasks");
static struct owner owners[SLOTS] LINE;
static u32 slot_of_pid[PIDS] LINE;

/* The CPUs of a slot's task. Read only if it may not use all. */
static u64 allowed_cpus[SLOTS][CPU_WORDS] LINE;

/* Slots that were given back, as a list, and how many were ever handed out. */
static LOCK(slots_lock);
static u32 first_free;
static u32 slots_used = 1;

static u32 nr_cpus;

static __always_inline struct slot *slot_at(u32 number)
{
	return &slots[number & (SLOTS - 1)];
}

/* Returns the number of a task's slot, or NOBODY if it has none. */
static __always_inline u32 slot_of(const struct task_struct *p)
{
	return slot_of_pid[p->pid & (PIDS - 1)];
}

/* The same for a task that may be dead: its pid, and with it the slot, may belong to another by now. */
static __always_inline u32 own_slot_of(const struct task_struct *p)
{
	u32 number = slot_of(p);

	return owners[number & (SLOTS - 1)].task == (u64)p ? number : NOBODY;
}

/* Whether the slot's task, which may not use every CPU, may use this one. */
static __always_inline bool slot_allows(u32 number, u32 cpu)
{
	return allowed_cpus[number & (SLOTS - 1)][cpu / 64 % CPU_WORDS] >> (cpu % 64) & 1;
}

/* Copies the task's CPUs to its slot. Returns whether it may use all. */
static __always_inline bool copy_cpus(u32 number, const struct task_struct *p)
{
	bpf_probe_read_kernel(allowed_cpus[number & (SLOTS - 1)], sizeof(allowed_cpus[0]), p->cpus_ptr);
	return p->nr_cpus_allowed >= nr_cpus;
}

static __always_inline s32 nice_of(const struct task_struct *p)
{
	return p->static_prio - 120;
}

/*
 * Does the kernel bind this thread of its own to one CPU? It serves that CPU, cannot be moved when
 * the CPU goes offline, and may be what others wait for: schedulers hand it straight to its CPU.
 */
static __always_inline bool is_bound_kthread(const struct task_struct *p)
{
	return p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1;
}

/* Whether the task is still runnable as it loses its CPU. */
static __always_inline bool is_queued(const struct task_struct *p)
{
	return p->scx.flags & SCX_TASK_QUEUED;
}

/* A member that is wider in Linux 6.18 than in 7.2: reads of unsigned ones are narrowed when an object is loaded. */
struct task_struct___wide {
	u32 on_cpu;
} __attribute__((preserve_access_index));

/*
 * Is the task still on its way off its CPU? While callbacks run there in its name, it counts as
 * bound to that CPU; asked to move it then, a kernel ends the scheduler. So it is left there.
 */
static __always_inline bool is_leaving_cpu(const struct task_struct *p)
{
	const struct task_struct___wide *wide = (const void *)p;

	return wide->on_cpu;
}

/*
 * A zeroed slot for a task; NOBODY if none is left. A pid may be reused while its dead task is
 * still referenced somewhere: then the slot passes on, and the dead task gives nothing back.
 */
static __always_inline u32 take_slot(const struct task_struct *p)
{
	u32 *entry = &slot_of_pid[p->pid & (PIDS - 1)];
	u32 number = *entry;

	if (number == NOBODY) {
		bpf_spin_lock(&slots_lock.lock);
		number = first_free;
		if (number != NOBODY)
			first_free = owners[number & (SLOTS - 1)].next_free;
		else if (slots_used < SLOTS)
			number = slots_used++;
		bpf_spin_unlock(&slots_lock.lock);
		if (number == NOBODY)
			return NOBODY;
	}
	owners[number & (SLOTS - 1)].task = (u64)p;
	__builtin_memset(slot_at(number), 0, sizeof(struct slot));
	*entry = number;
	return number;
}

/* Gives a task's slot back. */
static __always_inline void give_slot(const struct task_struct *p)
{
	u32 number = own_slot_of(p);
	struct owner *owner = &owners[number & (SLOTS - 1)];

	if (number == NOBODY)
		return;
	slot_of_pid[p->pid & (PIDS - 1)] = NOBODY;
	owner->task = 0;
	bpf_spin_lock(&slots_lock.lock);
	owner->next_free = first_free;
	first_free = number;
	bpf_spin_unlock(&slots_lock.lock);
}

/* For init: how many CPUs there are; an error if there are more than MAX_CPUS. */
static __always_inline s32 count_cpus(void)
{
	nr_cpus = scx_bpf_nr_cpu_ids();
	return nr_cpus <= MAX_CPUS ? 0 : -TOO_BIG_ERRNO;
}

#endif
