/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A CPU's runqueue and its scheduling domains, as BPF code sees them through the per-CPU variable `runqueues`. */
#ifndef KEEL_KERNEL_DOMAINS_H
#define KEEL_KERNEL_DOMAINS_H

struct task_struct;

/* The kernel's enum has no name either; 6.18 and 7.2 have the same numbers. */
enum {
	SD_BALANCE_NEWIDLE = 1 << 0,
	SD_BALANCE_EXEC = 1 << 1,
	SD_BALANCE_FORK = 1 << 2,
	SD_BALANCE_WAKE = 1 << 3,
	SD_WAKE_AFFINE = 1 << 4,
	SD_ASYM_CPUCAPACITY = 1 << 5,
	SD_ASYM_CPUCAPACITY_FULL = 1 << 6,
	SD_SHARE_CPUCAPACITY = 1 << 7,
	SD_CLUSTER = 1 << 8,
	SD_SHARE_LLC = 1 << 9,
	SD_SERIALIZE = 1 << 10,
	SD_ASYM_PACKING = 1 << 11,
	SD_PREFER_SIBLING = 1 << 12,
	SD_NUMA = 1 << 13,
};

/* The mask of its CPUs lies right behind it; 7.2 has no member for that any more. */
struct sched_domain {
	struct sched_domain *parent;
	struct sched_domain *child;
	unsigned long min_interval;
	unsigned long max_interval;
	unsigned int busy_factor;
	unsigned int imbalance_pct;
	unsigned int cache_nice_tries;
	int flags;
	int level;
	unsigned int span_weight;
	char *name;
};

struct rq {
	unsigned int nr_running;
	int cpu;
	int online;
	unsigned long cpu_capacity;
	struct task_struct *curr;
	struct task_struct *idle;
	u64 nr_switches;
	u64 clock;
	u64 clock_task;
	u64 clock_pelt;
	unsigned long lost_idle_time;
	struct sched_domain *sd;
};

/* No machine has a cpufreq driver that BPF code can see: all pointers to one are null. */
struct cpufreq_cpuinfo {
	unsigned int max_freq;
	unsigned int min_freq;
};

struct cpufreq_policy {
	unsigned int cpu;
	struct cpufreq_cpuinfo cpuinfo;
	unsigned int min;
	unsigned int max;
	unsigned int cur;
};

#endif
