/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel types that BPF code can see, as laid out in the simulated kernel's memory.
 *
 * Names and field types are Linux 7.2's; order and offsets are ours, because CO-RE moves every
 * access to where this header says. A field that is not here is absent: bpf_core_field_exists()
 * says no, and an unguarded access is refused by name. What a scheduler touches at every switch
 * is in the first two cache lines of task_struct.
 */
#ifndef KEEL_KERNEL_TYPES_H
#define KEEL_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u8 u8;
typedef __s8 s8;
typedef __u16 u16;
typedef __s16 s16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
typedef int pid_t;
typedef unsigned long size_t;

enum { false = 0, true = 1 };

typedef struct {
	int counter;
} atomic_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

/* 1024 CPUs at most. */
struct cpumask {
	unsigned long bits[16];
};
typedef struct cpumask cpumask_t;

struct bpf_cpumask {
	cpumask_t cpumask;
	refcount_t usage;
};

/* What map values and stacks hold for the kernel; sizes are fixed by the kernel's ABI. */
struct bpf_spin_lock {
	__u32 val;
};

struct bpf_res_spin_lock {
	__u32 val;
};

struct bpf_timer {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_task {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_scx_dsq {
	__u64 __opaque[6];
} __attribute__((aligned(8)));

struct mm_struct;

#include "cgroup.h"
#include "session.h"

struct thread_info {
	unsigned long flags;
	u32 status;
	u32 cpu;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime;
	u64 nr_migrations;
};

/* One cache line. */
struct sched_ext_entity {
	u64 slice;
	u64 dsq_vtime;
	u32 weight;
	u32 flags;
	u64 ddsp_dsq_id;
	u64 ddsp_enq_flags;
	unsigned long runnable_at;
	u64 tid;
	s32 selected_cpu;
	bool disallow;
};

typedef struct {
	unsigned long bits[16];
} nodemask_t;

struct mempolicy {
	unsigned short mode;
	unsigned short flags;
	nodemask_t nodes;
	int home_node;
};

/* How often it came to a CPU, and how long it had waited for that, in nanoseconds. */
struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};

typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef struct {
	uid_t val;
} kuid_t;
typedef struct {
	gid_t val;
} kgid_t;

/* Always root's: workloads have no users. */
struct cred {
	kuid_t uid;
	kgid_t gid;
	kuid_t suid;
	kgid_t sgid;
	kuid_t euid;
	kgid_t egid;
	kuid_t fsuid;
	kgid_t fsgid;
};

/* Its address tells a task's class, as /proc/kallsyms shows them. */
struct sched_class;

struct task_struct {
	/* First line: what sched_ext keeps. */
	struct sched_ext_entity scx;

	/* Second line: what decides where and how it may run. */
	unsigned int flags;
	pid_t pid;
	pid_t tgid;
	int nr_cpus_allowed;
	const cpumask_t *cpus_ptr;
	unsigned short migration_disabled;
	unsigned short migration_flags;
	unsigned int __state;
	int prio;
	int static_prio;
	int normal_prio;
	unsigned int policy;
	int recent_used_cpu;
	int wake_cpu;
	unsigned int rt_priority;
	u8 on_cpu;
	u8 on_rq;

	/* Third line: who it is. */
	struct thread_info thread_info;
	char comm[16];
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *parent;
	struct task_struct *group_leader;

	/* Fourth and fifth line: what it has done. */
	struct sched_entity se;
	u64 utime;
	u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_time;
	u64 start_boottime;
	int exit_state;
	int exit_code;
	struct css_set *cgroups;
	struct signal_struct *signal;
	/* Always null: no task here has a memory policy of its own. */
	struct mempolicy *mempolicy;
	struct sched_info sched_info;

	/* Two lines that cpus_ptr points to. */
	cpumask_t cpus_mask;

	/* Last line: what is seldom read. */
	const struct sched_class *sched_class;
	struct task_group *sched_task_group;
	const struct cred *real_cred;
	const struct cred *cred;
	struct pid *thread_pid;
};

#include "domains.h"

#endif
