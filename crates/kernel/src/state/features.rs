//! Lists the callbacks, kfuncs and helpers, and how close each is to Linux 7.2's.
//!
//! The supported ones come from the tables that implement them. This file only lists those that differ, and those that
//! current schedulers use but keel lacks.

use crate::state::bpf::functions::functions;
use keel_abi::feature::{Feature, FeatureKind};
use keel_abi::scx::Op;

/// Supported callbacks that differ from the kernel's.
const CALLBACKS: &[(&str, &str)] = &[
    ("yield", "gets no target task: no task yields to a certain other one"),
    ("dump", "never called: there are no dumps"),
    ("dump_cpu", "never called: there are no dumps"),
    ("dump_task", "never called: there are no dumps"),
];

/// Callbacks that are never called.
const ABSENT_CALLBACKS: &[(&str, &str)] = &[
    ("core_sched_before", "accepted, never called: there is no core scheduling"),
    ("sub_attach", "accepted in a sched_ext_ops_cid, never called: there are no sub-schedulers"),
    ("sub_detach", "like sub_attach"),
];

/// Supported functions that differ from the kernel's.
const FUNCTIONS: &[(&str, &str)] = &[
    ("scx_bpf_now", "the time of the call; in the kernel it may be as old as the runqueue's clock"),
    ("scx_bpf_dump_bstr", "accepted and dropped"),
    (
        "scx_bpf_tid_to_task",
        "tids are numbered from 1 in the order in which tasks are created; a task is found once ops.init_task has returned for it",
    ),
    ("scx_bpf_sub_dispatch", "always false: there are no sub-schedulers"),
    ("scx_bpf_cidperf_set", "like scx_bpf_cpuperf_set"),
    ("scx_bpf_dsq_reenq", "for a local queue, like scx_bpf_reenqueue_local___v2"),
    (
        "scx_bpf_cpuperf_set",
        "for schedutil, see docs/reference/machines.md; only slows the tasks' own work, in proportion",
    ),
    (
        "scx_bpf_reenqueue_local___v2",
        "if a pick has just preempted a task, takes effect at the end of that pick; the kernel's irq_work does it after the pick",
    ),
    ("scx_bpf_reenqueue_local", "takes effect at the end of ops.cpu_release; in the kernel, within the call"),
    (
        "bpf_cgroup_from_id",
        "ids follow the order in which cgroups are created: 1 for the root, then 65, 129...",
    ),
    (
        "bpf_obj_drop_impl",
        "an object that is in none of the scheduler's trees is freed only when it is dropped, not with the map element that holds it",
    ),
    ("bpf_rbtree_add_impl", "trees are balanced in a different way, so they make different comparisons"),
    (
        "bpf_res_spin_lock",
        "not under a bpf_spin_lock; between lock and unlock, other CPUs only get ahead if the holder asks for another lock",
    ),
    ("bpf_res_spin_lock_irqsave", "like bpf_res_spin_lock; interrupts never come during a program anyway"),
    (
        "bpf_arena_free_pages",
        "frees pages at once; for a program that may not sleep, the kernel frees them a little later",
    ),
    (
        "bpf_per_cpu_ptr",
        "only for runqueues, sd_llc_id, sd_llc_size, sched_core_priority and cpufreq_cpu_data; runqueues is a snapshot, cpufreq_cpu_data is null everywhere",
    ),
    ("bpf_this_cpu_ptr", "like bpf_per_cpu_ptr"),
    ("scx_bpf_cpu_rq", "like bpf_per_cpu_ptr of runqueues"),
    ("bpf_get_prandom_u32", "draws from the run's seed"),
    ("bpf_jiffies64", "counts from zero; the kernel begins five minutes before 32 bits overflow"),
    (
        "bpf_trace_printk",
        "doesn't know %pM and similar formats; keel sim --log shows the first 10,000 prints, and counts the rest",
    ),
    ("bpf_trace_vprintk", "like bpf_trace_printk"),
    ("bpf_stream_vprintk", "like bpf_trace_printk; a program finds its streams empty"),
    ("bpf_task_get_cgroup1", "always null: there are no hierarchies of cgroup version 1"),
    (
        "scx_bpf_events",
        "if ops.select_cpu chooses a CPU that the task may not use, this is counted before ops.enqueue; in the kernel, after it",
    ),
    ("bpf_snprintf", "doesn't know %pM and similar formats"),
    ("bpf_ringbuf_submit", "BPF_RB_*_WAKEUP wake no task, because none waits"),
    ("bpf_ringbuf_discard", "BPF_RB_*_WAKEUP wake no task, because none waits"),
    ("bpf_ringbuf_output", "BPF_RB_*_WAKEUP wake no task, because none waits"),
    ("bpf_perf_event_read_value", "ENOENT: no event is ever open"),
];

/// Kfuncs that some schedulers use and keel lacks.
const ABSENT_KFUNCS: &[(&str, &str)] = &[
    ("bpf_iter_css_new", "including _next and _destroy"),
    ("bpf_list_push_front_impl", "and all other list functions, and further functions on trees"),
];

/// Helpers that some schedulers use and keel lacks.
const ABSENT_HELPERS: &[(&str, &str)] = &[
    ("bpf_perf_event_output", "the kernel doesn't offer it to schedulers, either"),
    ("bpf_ringbuf_reserve_dynptr", "including the functions that submit and discard it"),
];

/// Returns all features, whether supported or known to be missing.
pub fn features() -> Vec<Feature> {
    let never = |name: &&str| ABSENT_CALLBACKS.iter().all(|(absent, _)| absent != name);
    let ops = Op::ALL.iter().map(|op| op.name()).filter(never);
    let mut all = Feature::list(FeatureKind::Callback, ops, CALLBACKS, ABSENT_CALLBACKS);
    let of =
        |is_helper: bool| functions().filter(move |(_, helper)| *helper == is_helper).map(|(name, _)| name);
    all.extend(Feature::list(FeatureKind::Kfunc, of(false), FUNCTIONS, ABSENT_KFUNCS));
    all.extend(Feature::list(FeatureKind::Helper, of(true), FUNCTIONS, ABSENT_HELPERS));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::feature::Level;

    #[test]
    fn what_differs_is_served_and_what_is_absent_is_not() {
        let served: Vec<&str> =
            functions().map(|(name, _)| name).chain(Op::ALL.iter().map(|op| op.name())).collect();
        for (name, _) in CALLBACKS.iter().chain(FUNCTIONS) {
            assert!(served.contains(name), "{name} differs, but is not served");
        }
        for (name, _) in ABSENT_CALLBACKS.iter().chain(ABSENT_KFUNCS).chain(ABSENT_HELPERS) {
            assert!(!served.contains(name), "{name} is absent, but served");
        }
        let differs = features().iter().filter(|f| matches!(f.level, Level::Approximate(_))).count();
        assert_eq!(differs, CALLBACKS.len() + FUNCTIONS.len());
    }
}
