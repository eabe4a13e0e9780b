/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * struct sched_ext_ops and what its callbacks are handed, as Linux 7.2 has them: every member,
 * in the kernel's order. Objects name members; one that is missing here cannot be loaded.
 */
#ifndef KEEL_KERNEL_OPS_H
#define KEEL_KERNEL_OPS_H

#include "enums.h"
#include "types.h"

struct scx_exit_info {
	enum scx_exit_kind kind;
	s32 exit_cpu;
	s64 exit_code;
	u64 flags;
	const char *reason;
	unsigned long *bt;
	u32 bt_len;
	char *msg;
	char *dump;
};

struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
};

struct scx_exit_task_args {
	bool cancelled;
};

struct scx_cgroup_init_args {
	u32 weight;
	u64 bw_period_us;
	u64 bw_quota_us;
	u64 bw_burst_us;
};

struct scx_cpu_acquire_args {};

struct scx_cpu_release_args {
	enum scx_cpu_preempt_reason reason;
	struct task_struct *task;
};

struct scx_dump_ctx {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	u64 at_ns;
	u64 at_jiffies;
};

/* What a scheduler did that it may not know of, each since it was attached (scx_bpf_events()). */
struct scx_event_stats {
	s64 SCX_EV_SELECT_CPU_FALLBACK;
	s64 SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE;
	s64 SCX_EV_DISPATCH_KEEP_LAST;
	s64 SCX_EV_ENQ_SKIP_EXITING;
	s64 SCX_EV_ENQ_SKIP_MIGRATION_DISABLED;
	s64 SCX_EV_REENQ_IMMED;
	s64 SCX_EV_REENQ_LOCAL_REPEAT;
	s64 SCX_EV_REFILL_SLICE_DFL;
	s64 SCX_EV_BYPASS_DURATION;
	s64 SCX_EV_BYPASS_DISPATCH;
	s64 SCX_EV_BYPASS_ACTIVATE;
	s64 SCX_EV_INSERT_NOT_OWNED;
	s64 SCX_EV_SUB_BYPASS_DISPATCH;
};

/* Kfuncs of more than five arguments take them in these. */
struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
};

struct scx_bpf_select_cpu_and_args {
	s32 prev_cpu;
	u64 wake_flags;
	u64 flags;
};

struct sched_ext_ops;

struct scx_sub_attach_args {
	struct sched_ext_ops *ops;
	char *cgroup_path;
};

struct scx_sub_detach_args {
	struct sched_ext_ops *ops;
	char *cgroup_path;
};

/* What both kinds of schedulers have: `id` is `cpu` or `cid`, and sets of these are `mask`s. */
#define SCX_OPS_MEMBERS(id, mask, mask_type)								\
	s32 (*select_##id)(struct task_struct *p, s32 prev_##id, u64 wake_flags);			\
	void (*enqueue)(struct task_struct *p, u64 enq_flags);						\
	void (*dequeue)(struct task_struct *p, u64 deq_flags);						\
	void (*dispatch)(s32 id, struct task_struct *prev);						\
	void (*tick)(struct task_struct *p);								\
	void (*runnable)(struct task_struct *p, u64 enq_flags);						\
	void (*running)(struct task_struct *p);								\
	void (*stopping)(struct task_struct *p, bool runnable);						\
	void (*quiescent)(struct task_struct *p, u64 deq_flags);					\
	bool (*yield)(struct task_struct *from, struct task_struct *to);				\
	bool (*core_sched_before)(struct task_struct *a, struct task_struct *b);			\
	void (*set_weight)(struct task_struct *p, u32 weight);						\
	void (*set_##mask)(struct task_struct *p, const struct mask_type *mask);			\
	void (*update_idle)(s32 id, bool idle);								\
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);			\
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);			\
	void (*enable)(struct task_struct *p);								\
	void (*disable)(struct task_struct *p);								\
	void (*dump)(struct scx_dump_ctx *ctx);								\
	void (*dump_##id)(struct scx_dump_ctx *ctx, s32 id, bool idle);					\
	void (*dump_task)(struct scx_dump_ctx *ctx, struct task_struct *p);				\
	s32 (*cgroup_init)(struct cgroup *cgrp, struct scx_cgroup_init_args *args);			\
	void (*cgroup_exit)(struct cgroup *cgrp);							\
	s32 (*cgroup_prep_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);		\
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);		\
	void (*cgroup_cancel_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);	\
	void (*cgroup_set_weight)(struct cgroup *cgrp, u32 weight);					\
	void (*cgroup_set_bandwidth)(struct cgroup *cgrp, u64 period_us, u64 quota_us, u64 burst_us);	\
	void (*cgroup_set_idle)(struct cgroup *cgrp, bool idle);					\
	s32 (*sub_attach)(struct scx_sub_attach_args *args);						\
	void (*sub_detach)(struct scx_sub_detach_args *args);						\
	void (*id##_online)(s32 id);									\
	void (*id##_offline)(s32 id);									\
	s32 (*init)(void);										\
	void (*exit)(struct scx_exit_info *info);							\
	u32 dispatch_max_batch;										\
	u64 flags;											\
	u32 timeout_ms;											\
	u32 exit_dump_len;										\
	u64 hotplug_seq;										\
	u64 sub_cgroup_id;										\
	char name[SCX_OPS_NAME_LEN];									\
	void *priv

struct sched_ext_ops {
	SCX_OPS_MEMBERS(cpu, cpumask, cpumask);
	void (*cpu_acquire)(s32 cpu, struct scx_cpu_acquire_args *args);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
};

/* A set of cids from `base` on; each word of `bits` begins at a multiple of 64. */
struct scx_cmask {
	u32 base;
	u32 nr_cids;
	u32 alloc_words;
	u64 bits[];
};

/* The first cid of the core, cache and node that a cid belongs to, and which of all they are. */
struct scx_cid_topo {
	s32 core_cid;
	s32 core_idx;
	s32 llc_cid;
	s32 llc_idx;
	s32 node_cid;
	s32 node_idx;
};

/* The same callbacks, with cids for CPUs. */
struct sched_ext_ops_cid {
	SCX_OPS_MEMBERS(cid, cmask, scx_cmask);
	char __end[0];
};

#endif
