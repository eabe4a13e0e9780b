/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs here share: the kernel's types, and the records of tasks.
 */
#ifndef KEEL_RECORDS_H
#define KEEL_RECORDS_H

#include "bpf_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* The kernel's types, as far as they are needed; their places are looked up when this is loaded. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_info {
	u32 cpu;
};

struct list_head {
	struct list_head *next;
};

struct kernfs_node {
	const char *name;
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct autogroup {
	unsigned long id;
};

struct cfs_bandwidth {
	s64 period;
	u64 quota;
	u64 burst;
};

/* Tasks that share CPU time as if they were one. Newer kernels keep its queues as per-CPU memory. */
struct task_group {
	struct cgroup_subsys_state css;
	int idle;
	struct cfs_rq **cfs_rq;
	unsigned long shares;
	struct task_group *parent;
	struct autogroup *autogroup;
	struct cfs_bandwidth cfs_bandwidth;
};

struct sched_avg {
	unsigned long load_avg;
	unsigned long util_avg;
	unsigned long runnable_avg;
	unsigned int util_est;
};

struct cfs_rq {
	struct sched_avg avg;
	unsigned int h_nr_runnable;
	struct task_group *tg;
	int throttle_count;
	/* Throttled tasks, linked by their throttle_node. */
	struct list_head throttled_limbo_list;
};

struct rq {
	int cpu;
	int online;
	unsigned int nr_running;
	unsigned int ttwu_pending;
	u64 nr_switches;
	struct task_struct *curr;
	struct task_struct *idle;
	struct cfs_rq cfs;
};

struct sched_entity {
	unsigned char sched_delayed;
	struct cfs_rq *cfs_rq;
	struct sched_entity *parent;
};

struct sched_dl_entity {
	unsigned int dl_throttled : 1;
	unsigned int dl_server : 1;
};

struct cpumask {
	unsigned long bits[1];
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned in_iowait : 1;
	/* Newer kernels have narrower ones, and libbpf narrows unsigned reads alone. */
	unsigned int on_cpu;
	unsigned int on_rq;
	int prio;
	int static_prio;
	int normal_prio;
	unsigned int policy;
	int pid;
	char comm[16];
	struct cpumask cpus_mask;
	struct cpumask *cpus_ptr;
	int nr_cpus_allowed;
	unsigned short migration_disabled;
	unsigned char throttled;
	struct list_head throttle_node;
	struct sched_entity se;
	struct sched_dl_entity dl;
	struct task_group *sched_task_group;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

enum cpuhp_state {
	CPUHP_TEARDOWN_CPU = 1,
	CPUHP_AP_ACTIVE = 2,
};
#pragma clang attribute pop

#define TASK_DEAD 0x80

/* Kinds of records. */
enum {
	SWITCH = 1,
	WAKEUP = 2,
	FORK = 3,
	MIGRATE = 4,
	HOTPLUG = 5,
	TASK_RECORD = 6,
	SNAPSHOT = 7,
	KICK = 8,
	STOPPED = 9,
	IDLE = 10,
	PRIORITY = 11,
	THROTTLED = 12,
	DECISION = 13,
	GROUP = 14,
	PIPED = 15,
};

/* In a snapshot: what a task is doing. */
enum {
	ASLEEP = 0,
	WAITING = 1,
	RUNNING = 2,
	/* It waits, but not for a CPU: it is throttled. */
	KEPT_OFF = 3,
};

#define IS_FIRST_RECORD 1

struct head {
	u64 at;
	u64 task;
	u32 lost;
	u16 cpu;
	u8 kind;
	u8 detail;
};

/* 4096 CPUs, as many as a machine of ours has. */
#define MAX_WORDS 64

struct task_record {
	struct head head;
	u32 pid;
	s32 static_prio;
	s32 prio;
	/* Its policy, and IN_A_GROUP. */
	u32 policy;
	u64 name[2];
	/* The address of its group; 0 for the root. */
	u64 group;
	u64 cpus[MAX_WORDS];
};

#define TASK_RECORD_HEAD (sizeof(struct task_record) - MAX_WORDS * sizeof(u64))

/* Its share of CPU time depends on a group: a cgroup's or a session's. */
#define IN_A_GROUP (1U << 31)

static __always_inline u32 policy_of(struct task_struct *p)
{
	bool groups = bpf_core_field_exists(p->se.parent) && p->se.parent;

	return p->policy | (groups ? IN_A_GROUP : 0);
}

/* Newer kernels keep a task off every CPU while its group's `cpu.max` is used up; older ones do that to whole queues. */
static __always_inline bool is_out_of_quota(struct task_struct *p)
{
	return bpf_core_field_exists(p->throttled) && p->throttled;
}

/* Is its deadline budget used up? */
static __always_inline bool is_out_of_budget(struct task_struct *p)
{
	struct sched_dl_entity *budget = &p->dl;

	return p->prio < 0 && BPF_CORE_READ_BITFIELD(budget, dl_throttled);
}

/* The group that a task shares CPU time in; null for the root. */
static __always_inline struct task_group *group_of(struct task_struct *p)
{
	struct task_group *group = NULL;

	if (bpf_core_field_exists(p->sched_task_group))
		group = p->sched_task_group;
	return group && group->parent ? group : NULL;
}

/* Writes down what `p` is; `bytes` of its CPUs. */
static __always_inline void write_down(struct task_struct *p, struct task_record *info, struct cpumask *cpus, u32 bytes)
{
	info->head.at = bpf_ktime_get_ns();
	info->head.task = (u64)p;
	info->head.lost = 0;
	info->head.cpu = p->thread_info.cpu;
	info->pid = p->pid;
	info->static_prio = p->static_prio;
	info->prio = p->prio;
	info->policy = policy_of(p);
	info->group = (u64)group_of(p);
	bpf_probe_read_kernel(info->name, sizeof(info->name), &p->comm);
	bpf_probe_read_kernel(info->cpus, bytes, cpus);
}

/* Does it wait for a CPU: it is on a runqueue, in earnest, and on no CPU? */
static __always_inline bool waits(struct task_struct *p)
{
	return p->on_rq && !p->on_cpu && !(bpf_core_field_exists(p->se.sched_delayed) && p->se.sched_delayed);
}

#endif
