/* SPDX-License-Identifier: GPL-2.0-only */
/* bsd, first: its settings, what it keeps for each task and each CPU, and the one set of queues. */
#ifndef BSD_TYPES_H
#define BSD_TYPES_H

#include "hints.h"

/* Priorities, 0 the best, as FreeBSD 5.0 divides them, and the queues, each shared by four priorities. */
#define QUEUES 64
#define PRIORITIES_PER_QUEUE 4
#define REALTIME_FIRST 128
#define REALTIME_LEVELS 32
#define USER_FIRST 160
#define USER_LAST 223
/* PWAIT: the priority that a sleeper wakes with, until it has returned from the kernel. */
#define WAKING_PRIORITY 92

/* Settings: how often each running task gives way to its equals. */
const volatile u64 quantum_ns = 100000000;
/* Off-switches for experiments: use never decays; a sleeper wakes with its own priority, not with the kernel's. */
const volatile bool decay = true;
const volatile bool waking_priority = true;

struct slot {
	/* Neighbours in the queue; both are NOBODY at its ends. */
	u32 next;
	u32 prev;
	s32 pid;
	s32 nice;
	/* Ticks of CPU that it used and that have not decayed yet, and the second up to which decay was applied. */
	u32 estcpu;
	u32 second;
	struct hint rt;
	u8 priority;
	/* The queue that it waits in. */
	u8 queue;
	bool linked;
	bool asleep;
	/* It may use all CPUs. */
	bool everywhere;
	/* The CPUs that it may use went offline while it waited. */
	bool homeless;
} __attribute__((aligned(64)));

#include "handover.h"
#include "lists.h"

struct cpu {
	/* The task that runs here (NOBODY if the CPU idles), and its priority. */
	u32 curr;
	u32 priority;
	bool offline;
	/* It idles, and was notified to check the queues. */
	bool notified;
	/* The last statistics clock tick and the last quantum that were seen here. */
	u64 stat;
	u64 quantum;
} LINE;

static struct cpu cpus[MAX_CPUS] LINE;

/* sched_lock, and what it protects: the queues, and a bit for each queue that has tasks. */
static LOCK(sched_lock);
static struct {
	u64 bitmap;
	u32 nr_waiting;
	struct list queues[QUEUES] LINE;
} runq LINE;

static __always_inline struct cpu *cpu_at(u32 cpu)
{
	return &cpus[cpu & (MAX_CPUS - 1)];
}

static __always_inline bool is_offline(u32 cpu)
{
	return cpu_at(cpu)->offline;
}

#include "kick.h"

#endif
