/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the programs hand records to the reader: one ring buffer a CPU, what was lost, and what was recorded of each
 * task.
 *
 * All of it may be used in any context but NMI, also under a runqueue's lock: nothing here sleeps, takes a lock of the
 * scheduler's or wakes a task. A ring's lock is held by its own CPU alone, with interrupts off; the reader never takes
 * it. An irq_work wakes the reader: it runs when interrupts are on again, and no program sends it to another CPU.
 */
#ifndef KEEL_RING_H
#define KEEL_RING_H

#include "records.h"

/* x86's count of what the CPU is in the midst of; other machines keep it elsewhere. */
extern int __preempt_count __ksym __weak;
extern const struct rq runqueues __ksym;

#define SERVING_SOFTIRQ 0x00000100
#define IN_HARDIRQ_OR_NMI 0x00ff0000

struct event {
	struct head head;
	u64 other;
	u32 from;
	u32 to;
};

const volatile struct {
	/* How many 64-bit words hold the machine's CPUs. */
	u32 words;
	/* The reader is woken whenever two to this power more bytes wait for it in one ring. */
	u32 portion_log2;
	/* Whether programs watch timers. */
	u32 sees_timers;
} sizes = { 1, 10, 0 };

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* Records that did not fit and were not reported yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

/* Buffers to write a `struct task_record` in, one for each context that may interrupt another. */
enum {
	BY_EVENT = 0,
	BY_EXEC = 1,
	BY_SNAPSHOT = 2,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, u32);
	__type(value, struct task_record);
} task_buffers SEC(".maps");

/* What was recorded of a task, and what is waking it. */
struct known {
	u64 name[2];
	u64 cpus;
	u64 waker;
	/* Its group's address, and what stands for the group's settings. */
	u64 group;
	u64 settings;
	u32 pid;
	s32 static_prio;
	s32 prio;
	u32 policy;
	u32 waker_cpu;
	u8 is_recorded;
	u8 woken;
	u8 yields;
	/* What it waits in, what wakes it, and whether it has sent something to this machine itself since it came to its CPU. */
	u8 call;
	u8 source;
	u8 has_sent;
	/* The call in which it reads from a pipe or writes to one. */
	u8 pipe;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct known);
} tasks SEC(".maps");

static __always_inline struct known *known_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* A task's address; 0 for an idle task. */
static __always_inline u64 id_of(struct task_struct *p)
{
	return p->pid ? (u64)p : 0;
}

static __always_inline void *ring_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/*
 * Whether this CPU is going offline. The kernel turns its interrupt controller off before the last switch to the idle
 * task (native_cpu_disable()), so an irq_work that is queued in between never runs. Worse, it stays queued when the CPU
 * comes back, and because the kernel interrupts a CPU only for the first of its irq_works, no later one of any user
 * runs there: a task that waits for one in irq_work_sync() spins forever.
 */
static __always_inline bool goes_offline(void)
{
	struct rq *rq = bpf_this_cpu_ptr(&runqueues);

	return !rq->online;
}

/*
 * Wakes the reader if the `bytes` that are handed in now fill another portion. What a CPU records while it goes offline
 * waits until another CPU wakes the reader, or until the recording ends.
 */
static __always_inline u64 wake_flags(void *ring, u32 bytes)
{
	u64 waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	if ((waiting + bytes) >> sizes.portion_log2 == waiting >> sizes.portion_log2 || goes_offline())
		return BPF_RB_NO_WAKEUP;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void emit(u8 kind, u8 detail, u32 cpu, u64 task, u64 other, u32 from, u32 to)
{
	u32 zero = 0;
	u64 *missed = bpf_map_lookup_elem(&lost, &zero);
	void *ring = ring_here();
	struct event *event;
	u64 flags;

	if (!missed || !ring)
		return;
	flags = wake_flags(ring, sizeof(*event));
	event = bpf_ringbuf_reserve(ring, sizeof(*event), 0);
	if (!event) {
		(*missed)++;
		return;
	}
	event->head.at = bpf_ktime_get_ns();
	event->head.task = task;
	event->head.lost = *missed;
	event->head.cpu = cpu;
	event->head.kind = kind;
	event->head.detail = detail;
	event->other = other;
	event->from = from;
	event->to = to;
	*missed = 0;
	bpf_ringbuf_submit(event, flags);
}

/* Which task acts here: none in an interrupt. */
static __always_inline u64 actor(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (&__preempt_count) {
		int *count = bpf_this_cpu_ptr(&__preempt_count);

		if (*count & (SERVING_SOFTIRQ | IN_HARDIRQ_OR_NMI))
			return 0;
	}
	return id_of(me);
}

#endif
