//! How many arguments functions of the kernel take: an engine need not prepare the registers of the others.

/// The helper with this number, if programs call it often.
pub const fn of_helper(number: i32) -> Option<usize> {
    Some(match number {
        // A random number, the current task, and the node of this CPU.
        7 | 14 | 35 | 42 | 158 => 0,
        // `bpf_this_cpu_ptr()`.
        154 => 1,
        // `bpf_map_pop_elem()` and its like, deletions, and `bpf_per_cpu_ptr()`.
        3 | 88 | 89 | 153 | 157 => 2,
        // `bpf_map_push_elem()`, `bpf_probe_read_kernel()`, `bpf_map_lookup_percpu_elem()`.
        87 | 113 | 195 => 3,
        // `bpf_map_update_elem()`, `bpf_task_storage_get()`.
        2 | 156 => 4,
        _ => return None,
    })
}

/// The kfunc with this name, if programs call it often.
pub fn of_kfunc(name: &str) -> Option<usize> {
    if let Some(mask) = name.strip_prefix("bpf_cpumask_") {
        return of_mask(mask);
    }
    Some(match name.strip_prefix("scx_bpf_")? {
        "get_idle_cpumask"
        | "get_idle_smtmask"
        | "get_online_cpumask"
        | "get_possible_cpumask"
        | "nr_cpu_ids"
        | "nr_node_ids"
        | "dispatch_nr_slots"
        | "dispatch_cancel" => 0,
        "get_idle_cpumask_node"
        | "get_idle_smtmask_node"
        | "put_idle_cpumask"
        | "put_cpumask"
        | "test_and_clear_cpu_idle"
        | "task_running"
        | "task_cgroup"
        | "cpu_curr"
        | "cpu_rq"
        | "cpu_node"
        | "cpuperf_cap"
        | "cpuperf_cur"
        | "dsq_nr_queued"
        | "dsq_peek" => 1,
        "pick_idle_cpu" | "pick_any_cpu" | "cpuperf_set" => 2,
        "pick_idle_cpu_node" | "pick_any_cpu_node" | "__select_cpu_and" => 3,
        "dsq_insert" | "dsq_move" | "dsq_move_vtime" => 4,
        _ => return None,
    })
}

fn of_mask(name: &str) -> Option<usize> {
    Some(match name {
        "create" => 0,
        "acquire" | "release" | "first" | "first_zero" | "setall" | "clear" | "empty" | "full" | "weight"
        | "any_distribute" => 1,
        "set_cpu" | "clear_cpu" | "test_cpu" | "test_and_set_cpu" | "test_and_clear_cpu" | "equal"
        | "intersects" | "subset" | "copy" | "any_and_distribute" => 2,
        "and" | "or" | "xor" => 3,
        _ => return None,
    })
}
