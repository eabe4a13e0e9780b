/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kfuncs of the simulated kernel, with the prototypes that Linux 7.2's BTF shows: without
 * the argument that the verifier adds. Whoever includes this says what a kfunc becomes:
 *
 *   KFUNC(result, name, parameters...)
 *   KFUNC_VERSION(result, name, ___version, parameters...)   a name that ends in ___version
 *
 * All that the `kernel` crate serves is here; what is not is absent, as a weak symbol finds out.
 */
#ifndef KEEL_KERNEL_KFUNCS_H
#define KEEL_KERNEL_KFUNCS_H

#include "ops.h"

/* Dispatch queues. */
KFUNC(s32, scx_bpf_create_dsq, u64 dsq_id, s32 node)
KFUNC(void, scx_bpf_destroy_dsq, u64 dsq_id)
KFUNC(s32, scx_bpf_dsq_nr_queued, u64 dsq_id)
KFUNC(struct task_struct *, scx_bpf_dsq_peek, u64 dsq_id)
KFUNC(void, scx_bpf_dsq_insert, struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
KFUNC_VERSION(bool, scx_bpf_dsq_insert, ___v2, struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
KFUNC(void, scx_bpf_dsq_insert_vtime, struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags)
KFUNC(bool, __scx_bpf_dsq_insert_vtime, struct task_struct *p, struct scx_bpf_dsq_insert_vtime_args *args)
KFUNC(u32, scx_bpf_dispatch_nr_slots, void)
KFUNC(void, scx_bpf_dispatch_cancel, void)
KFUNC(bool, scx_bpf_sub_dispatch, u64 cgroup_id)
KFUNC(bool, scx_bpf_dsq_move_to_local, u64 dsq_id)
KFUNC_VERSION(bool, scx_bpf_dsq_move_to_local, ___v2, u64 dsq_id, u64 enq_flags)
KFUNC(void, scx_bpf_dsq_move_set_slice, struct bpf_iter_scx_dsq *it__iter, u64 slice)
KFUNC(void, scx_bpf_dsq_move_set_vtime, struct bpf_iter_scx_dsq *it__iter, u64 vtime)
KFUNC(bool, scx_bpf_dsq_move, struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, u64 enq_flags)
KFUNC(bool, scx_bpf_dsq_move_vtime, struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, u64 enq_flags)
KFUNC(int, bpf_iter_scx_dsq_new, struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags)
KFUNC(struct task_struct *, bpf_iter_scx_dsq_next, struct bpf_iter_scx_dsq *it)
KFUNC(void, bpf_iter_scx_dsq_destroy, struct bpf_iter_scx_dsq *it)
KFUNC(void, scx_bpf_dsq_reenq, u64 dsq_id, u64 reenq_flags)

/* Tasks. */
KFUNC(bool, scx_bpf_task_set_slice, struct task_struct *p, u64 slice)
KFUNC(bool, scx_bpf_task_set_dsq_vtime, struct task_struct *p, u64 vtime)
KFUNC(bool, scx_bpf_task_running, const struct task_struct *p)
KFUNC(s32, scx_bpf_task_cpu, const struct task_struct *p)
KFUNC(struct task_struct *, bpf_task_acquire, struct task_struct *p)
KFUNC(struct task_struct *, bpf_task_from_pid, s32 pid)
KFUNC(struct task_struct *, scx_bpf_tid_to_task, u64 tid)
KFUNC(void, bpf_task_release, struct task_struct *p)

/* CPUs, and which of them are idle. */
KFUNC(s32, scx_bpf_select_cpu_dfl, struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle)
KFUNC(s32, scx_bpf_select_cpu_and, struct task_struct *p, s32 prev_cpu, u64 wake_flags, const struct cpumask *cpus_allowed, u64 flags)
KFUNC(s32, __scx_bpf_select_cpu_and, struct task_struct *p, const struct cpumask *cpus_allowed, struct scx_bpf_select_cpu_and_args *args)
KFUNC(bool, scx_bpf_test_and_clear_cpu_idle, s32 cpu)
KFUNC(s32, scx_bpf_pick_idle_cpu, const struct cpumask *cpus_allowed, u64 flags)
KFUNC(s32, scx_bpf_pick_idle_cpu_node, const struct cpumask *cpus_allowed, s32 node, u64 flags)
KFUNC(s32, scx_bpf_pick_any_cpu, const struct cpumask *cpus_allowed, u64 flags)
KFUNC(s32, scx_bpf_pick_any_cpu_node, const struct cpumask *cpus_allowed, s32 node, u64 flags)
KFUNC(const struct cpumask *, scx_bpf_get_idle_cpumask, void)
KFUNC(const struct cpumask *, scx_bpf_get_idle_smtmask, void)
KFUNC(const struct cpumask *, scx_bpf_get_idle_cpumask_node, int node)
KFUNC(const struct cpumask *, scx_bpf_get_idle_smtmask_node, int node)
KFUNC(void, scx_bpf_put_idle_cpumask, const struct cpumask *idle_mask)
KFUNC(const struct cpumask *, scx_bpf_get_possible_cpumask, void)
KFUNC(const struct cpumask *, scx_bpf_get_online_cpumask, void)
KFUNC(void, scx_bpf_put_cpumask, const struct cpumask *cpumask)
KFUNC(u32, scx_bpf_nr_cpu_ids, void)
KFUNC(u32, scx_bpf_nr_node_ids, void)
KFUNC(s32, scx_bpf_cpu_node, s32 cpu)
KFUNC(struct task_struct *, scx_bpf_cpu_curr, s32 cpu)
KFUNC(struct rq *, scx_bpf_cpu_rq, s32 cpu)
KFUNC(u32, scx_bpf_reenqueue_local, void)
KFUNC_VERSION(void, scx_bpf_reenqueue_local, ___v2, void)
KFUNC(void, scx_bpf_kick_cpu, s32 cpu, u64 flags)
KFUNC(u32, scx_bpf_cpuperf_cap, s32 cpu)
KFUNC(u32, scx_bpf_cpuperf_cur, s32 cpu)
KFUNC(void, scx_bpf_cpuperf_set, s32 cpu, u32 perf)

/* CPUs by their cids, which follow the topology. */
KFUNC(void, scx_bpf_cid_override, const s32 *cpu_to_cid, u32 cpu_to_cid__sz)
KFUNC(s32, scx_bpf_cid_to_cpu, s32 cid)
KFUNC(s32, scx_bpf_cpu_to_cid, s32 cpu)
KFUNC(void, scx_bpf_cid_topo, s32 cid, struct scx_cid_topo *out, size_t out__sz)
KFUNC(u32, scx_bpf_nr_cids, void)
KFUNC(u32, scx_bpf_nr_online_cids, void)
KFUNC(s32, scx_bpf_this_cid, void)
KFUNC(s32, scx_bpf_task_cid, const struct task_struct *p)
KFUNC(struct task_struct *, scx_bpf_cid_curr, s32 cid)
KFUNC(void, scx_bpf_kick_cid, s32 cid, u64 flags)
KFUNC(u32, scx_bpf_cidperf_cap, s32 cid)
KFUNC(u32, scx_bpf_cidperf_cur, s32 cid)
KFUNC(void, scx_bpf_cidperf_set, s32 cid, u32 perf)

/* Time, and the end. */
KFUNC(u64, scx_bpf_now, void)
KFUNC(void, scx_bpf_exit_bstr, s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz)
KFUNC(void, scx_bpf_error_bstr, char *fmt, unsigned long long *data, u32 data__sz)
KFUNC(void, scx_bpf_events, struct scx_event_stats *events, size_t events__sz)
KFUNC(void, scx_bpf_dump_bstr, char *fmt, unsigned long long *data, u32 data__sz)

/* CPU masks of the scheduler's own. */
KFUNC(struct bpf_cpumask *, bpf_cpumask_create, void)
KFUNC(struct bpf_cpumask *, bpf_cpumask_acquire, struct bpf_cpumask *cpumask)
KFUNC(void, bpf_cpumask_release, struct bpf_cpumask *cpumask)
KFUNC(u32, bpf_cpumask_first, const struct cpumask *cpumask)
KFUNC(u32, bpf_cpumask_first_zero, const struct cpumask *cpumask)
KFUNC(void, bpf_cpumask_set_cpu, u32 cpu, struct bpf_cpumask *cpumask)
KFUNC(void, bpf_cpumask_clear_cpu, u32 cpu, struct bpf_cpumask *cpumask)
KFUNC(bool, bpf_cpumask_test_cpu, u32 cpu, const struct cpumask *cpumask)
KFUNC(bool, bpf_cpumask_test_and_set_cpu, u32 cpu, struct bpf_cpumask *cpumask)
KFUNC(bool, bpf_cpumask_test_and_clear_cpu, u32 cpu, struct bpf_cpumask *cpumask)
KFUNC(void, bpf_cpumask_setall, struct bpf_cpumask *cpumask)
KFUNC(void, bpf_cpumask_clear, struct bpf_cpumask *cpumask)
KFUNC(bool, bpf_cpumask_and, struct bpf_cpumask *dst, const struct cpumask *src1, const struct cpumask *src2)
KFUNC(void, bpf_cpumask_or, struct bpf_cpumask *dst, const struct cpumask *src1, const struct cpumask *src2)
KFUNC(void, bpf_cpumask_xor, struct bpf_cpumask *dst, const struct cpumask *src1, const struct cpumask *src2)
KFUNC(bool, bpf_cpumask_equal, const struct cpumask *src1, const struct cpumask *src2)
KFUNC(bool, bpf_cpumask_intersects, const struct cpumask *src1, const struct cpumask *src2)
KFUNC(bool, bpf_cpumask_subset, const struct cpumask *src1, const struct cpumask *src2)
KFUNC(bool, bpf_cpumask_empty, const struct cpumask *cpumask)
KFUNC(bool, bpf_cpumask_full, const struct cpumask *cpumask)
KFUNC(void, bpf_cpumask_copy, struct bpf_cpumask *dst, const struct cpumask *src)
KFUNC(u32, bpf_cpumask_any_distribute, const struct cpumask *cpumask)
KFUNC(u32, bpf_cpumask_any_and_distribute, const struct cpumask *src1, const struct cpumask *src2)
KFUNC(u32, bpf_cpumask_weight, const struct cpumask *cpumask)

/* Cgroups. */
KFUNC(struct cgroup *, scx_bpf_task_cgroup, struct task_struct *p)
KFUNC(struct cgroup *, bpf_cgroup_acquire, struct cgroup *cgrp)
KFUNC(void, bpf_cgroup_release, struct cgroup *cgrp)
KFUNC(struct cgroup *, bpf_cgroup_ancestor, struct cgroup *cgrp, int level)
KFUNC(struct cgroup *, bpf_cgroup_from_id, u64 cgid)
KFUNC(long, bpf_task_under_cgroup, struct task_struct *task, struct cgroup *ancestor)
KFUNC(struct cgroup *, bpf_task_get_cgroup1, struct task_struct *task, int hierarchy_id)

/* Objects and trees of BPF's own. */
KFUNC(void *, bpf_obj_new_impl, u64 local_type_id__k, void *meta__ign)
KFUNC(void, bpf_obj_drop_impl, void *p__alloc, void *meta__ign)
KFUNC(int, bpf_rbtree_add_impl, struct bpf_rb_root *root, struct bpf_rb_node *node, bool (*less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta__ign, u64 off)
KFUNC(struct bpf_rb_node *, bpf_rbtree_remove, struct bpf_rb_root *root, struct bpf_rb_node *node)
KFUNC(struct bpf_rb_node *, bpf_rbtree_first, struct bpf_rb_root *root)

/* BPF's own. */
KFUNC(void, bpf_rcu_read_lock, void)
KFUNC(void, bpf_rcu_read_unlock, void)
KFUNC(void, bpf_preempt_disable, void)
KFUNC(void, bpf_preempt_enable, void)
KFUNC(int, bpf_res_spin_lock, struct bpf_res_spin_lock *lock)
KFUNC(void, bpf_res_spin_unlock, struct bpf_res_spin_lock *lock)
KFUNC(int, bpf_res_spin_lock_irqsave, struct bpf_res_spin_lock *lock, unsigned long *flags__irq_flag)
KFUNC(void, bpf_res_spin_unlock_irqrestore, struct bpf_res_spin_lock *lock, unsigned long *flags__irq_flag)
KFUNC(int, bpf_stream_vprintk, int stream_id, const char *fmt__str, const void *args, u32 len__sz)
KFUNC(int, bpf_iter_num_new, struct bpf_iter_num *it, int start, int end)
KFUNC(int *, bpf_iter_num_next, struct bpf_iter_num *it)
KFUNC(void, bpf_iter_num_destroy, struct bpf_iter_num *it)

/* Arenas; pointers into them are of address space 1, which no comparison of prototypes looks at. */
KFUNC(void *, bpf_arena_alloc_pages, void *p__map, void *addr__ign, u32 page_cnt, int node_id, u64 flags)
KFUNC(void, bpf_arena_free_pages, void *p__map, void *ptr__ign, u32 page_cnt)
KFUNC(int, bpf_arena_reserve_pages, void *p__map, void *ptr__ign, u32 page_cnt)

#endif
