/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Made into the simulated kernel's BTF: each kfunc as a function with the kernel's tag, one variable that
 * names every type which no kfunc names, and the per-CPU variables.
 */
#define KFUNC(result, name, ...) \
	__attribute__((btf_decl_tag("bpf_kfunc"))) result name(__VA_ARGS__) { return (result)0; }
#define KFUNC_VERSION(result, name, version, ...) KFUNC(result, name##version, __VA_ARGS__)

#include "kernel.h"

/* What guards of the kernel's own macros are made of. */
typedef struct {
	void *lock;
} class_rcu_t;

/* Tracepoints: what BPF programs that trace them get, behind the first argument. */
typedef void (*btf_trace_sched_switch)(void *, bool, struct task_struct *, struct task_struct *, unsigned int);
struct irqaction;
typedef void (*btf_trace_irq_handler_entry)(void *, int, struct irqaction *);
typedef void (*btf_trace_irq_handler_exit)(void *, int, struct irqaction *, int);
typedef void (*btf_trace_softirq_entry)(void *, unsigned int);
typedef void (*btf_trace_softirq_exit)(void *, unsigned int);
typedef void (*btf_trace_cpu_idle)(void *, unsigned int, unsigned int);
typedef void (*btf_trace_task_rename)(void *, struct task_struct *, const char *);
typedef void (*btf_trace_cgroup_mkdir)(void *, struct cgroup *, const char *);
typedef void (*btf_trace_cgroup_rmdir)(void *, struct cgroup *, const char *);
typedef void (*btf_trace_cgroup_attach_task)(void *, struct cgroup *, const char *, struct task_struct *, bool);

/* Compilers describe only what is used. */
union {
	struct sched_ext_ops ops;
	struct sched_ext_ops_cid ops_cid;
	struct scx_cmask cmask;
	struct scx_cid_topo cid_topo;
	struct task_struct task;
	struct rq rq;
	struct cpufreq_policy cpufreq_policy;
	struct sched_domain sched_domain;
	struct signal_struct signal;
	struct autogroup autogroup;
	struct pid pid;
	struct pid_namespace pid_namespace;
	struct cred cred;
	struct mempolicy mempolicy;
	enum pid_type pid_type;
	struct bpf_cpumask cpumask;
	struct bpf_spin_lock spin_lock;
	struct bpf_timer timer;
	struct cgroup cgroup;
	struct kernfs_node kernfs_node;
	struct css_set css_set;
	struct task_group task_group;
	struct bpf_rb_root rb_root;
	struct bpf_rb_node rb_node;
	struct bpf_iter_num iter_num;
	struct bpf_iter_task iter_task;
	struct bpf_iter_scx_dsq iter_scx_dsq;
	struct scx_exit_info exit_info;
	struct scx_init_task_args init_task_args;
	struct scx_exit_task_args exit_task_args;
	struct scx_cgroup_init_args cgroup_init_args;
	struct scx_cpu_acquire_args cpu_acquire_args;
	struct scx_cpu_release_args cpu_release_args;
	struct scx_dump_ctx dump_ctx;
	struct scx_event_stats event_stats;
	struct scx_sub_attach_args sub_attach_args;
	struct scx_sub_detach_args sub_detach_args;
	struct scx_bpf_dsq_insert_vtime_args dsq_insert_vtime_args;
	struct scx_bpf_select_cpu_and_args select_cpu_and_args;
	enum scx_public_consts public_consts;
	enum scx_consts consts;
	enum scx_dsq_id_flags dsq_id_flags;
	enum scx_dsq_iter_flags dsq_iter_flags;
	enum scx_enq_flags enq_flags;
	enum scx_deq_flags deq_flags;
	enum scx_wake_flags wake_flags;
	enum scx_kick_flags kick_flags;
	enum scx_pick_idle_cpu_flags pick_idle_cpu_flags;
	enum scx_reenq_flags reenq_flags;
	enum scx_ops_flags ops_flags;
	enum scx_ent_flags ent_flags;
	enum scx_ent_dsq_flags ent_dsq_flags;
	enum scx_rq_flags rq_flags;
	enum scx_exit_code exit_code;
	enum scx_exit_flags exit_flags;
	enum bpf_map_type map_type;
	class_rcu_t class_rcu;
	btf_trace_sched_switch trace_sched_switch;
	btf_trace_irq_handler_entry trace_irq_handler_entry;
	btf_trace_irq_handler_exit trace_irq_handler_exit;
	btf_trace_softirq_entry trace_softirq_entry;
	btf_trace_softirq_exit trace_softirq_exit;
	btf_trace_cpu_idle trace_cpu_idle;
	btf_trace_task_rename trace_task_rename;
	btf_trace_cgroup_attach_task trace_cgroup_attach_task;
	btf_trace_cgroup_mkdir trace_cgroup_mkdir;
	btf_trace_cgroup_rmdir trace_cgroup_rmdir;
} keel_types;

/* What user space sets a struct_ops map to: libbpf looks for these by name. */
enum bpf_struct_ops_state { BPF_STRUCT_OPS_STATE_INIT };
struct bpf_struct_ops_common {
	refcount_t refcnt;
	enum bpf_struct_ops_state state;
};
struct bpf_struct_ops_sched_ext_ops {
	struct bpf_struct_ops_common common;
	struct sched_ext_ops data __attribute__((aligned(64)));
} keel_struct_ops_value;
struct bpf_struct_ops_sched_ext_ops_cid {
	struct bpf_struct_ops_common common;
	struct sched_ext_ops_cid data __attribute__((aligned(64)));
} keel_struct_ops_cid_value;

/* Functions that can be traced. */
int bpf_scx_reg(void *kdata, void *link) { return 0; }
void scx_tick(struct rq *rq) {}
struct kernfs_open_file;
long cpuset_write_resmask(struct kernfs_open_file *of, char *buf, size_t nbytes, long long off) { return 0; }

/* Schedulers look for these by name, to find out whether the kernel has spin locks for BPF, and
   ops.cgroup_set_bandwidth. */
u64 bpf_spin_lock(u64 lock, u64 b, u64 c, u64 d, u64 e) { return 0; }
u64 bpf_spin_unlock(u64 lock, u64 b, u64 c, u64 d, u64 e) { return 0; }
void scx_group_set_bandwidth(struct task_group *tg, u64 period_us, u64 quota_us, u64 burst_us) {}

/* What each CPU has its own of. */
#define PER_CPU __attribute__((section(".data..percpu")))
PER_CPU struct rq runqueues;
PER_CPU int sd_llc_id;
PER_CPU int sd_llc_size;
PER_CPU struct cpufreq_policy *cpufreq_cpu_data;
PER_CPU int sched_core_priority;
