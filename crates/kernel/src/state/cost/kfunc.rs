//! The price of each helper and kfunc, in BPF instructions of the machine.
//!
//! Prices are in instructions rather than time, so that they scale with the machine's `insn_ps`. A price is the length
//! of the kernel function on its common path, including call and return. Waiting is counted where it happens and is not
//! included here: locks, cache lines that move, a target CPU's interrupt. If the work grows with the machine or an
//! argument, `per_word` is added for every 64-bit word of it (a CPU mask, a string or block of memory).

/// A function's price, in BPF instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// For each call.
    pub insns: u32,
    /// For each 64-bit word of its mask or memory.
    pub per_word: u32,
}

impl Price {
    /// The price of a call over this many words.
    #[inline]
    pub const fn over(self, words: u64) -> u64 {
        self.insns as u64 + self.per_word as u64 * words
    }
}

/// The price of a function that is in no group: an ordinary short kernel function.
pub const OTHERS: Price = Price { insns: 40, per_word: 0 };

struct Group {
    price: Price,
    names: &'static [&'static str],
}

const fn group(insns: u32, per_word: u32, names: &'static [&'static str]) -> Group {
    Group { price: Price { insns, per_word }, names }
}

/// The price of a helper or kfunc, by its name without `___` suffix.
pub fn price(name: &str) -> Price {
    let name = base_name(name);
    GROUPS.iter().find(|g| g.names.contains(&name)).map_or(OTHERS, |g| g.price)
}

/// Returns whether the function's price is in the table. Otherwise it costs [`OTHERS`].
pub fn is_priced(name: &str) -> bool {
    GROUPS.iter().any(|g| g.names.contains(&base_name(name)))
}

/// Versions (`___v2`) and an object's flavours (`___compat`) of a function cost the same.
fn base_name(name: &str) -> &str {
    name.find("___").filter(|&at| at > 0).map_or(name, |at| &name[..at])
}

const GROUPS: &[Group] = &[
    // Inlined or a single load by the translator: no call remains.
    group(
        3,
        0,
        &[
            "bpf_get_smp_processor_id",
            "bpf_get_current_task_btf",
            "bpf_get_current_task",
            "bpf_per_cpu_ptr",
            "bpf_this_cpu_ptr",
            "bpf_jiffies64",
            "bpf_kptr_xchg",
            "bpf_iter_num_new",
            "bpf_iter_num_next",
            "bpf_iter_num_destroy",
        ],
    ),
    // A counter or flag of this CPU goes up or down, behind a call.
    group(
        8,
        0,
        &[
            "bpf_rcu_read_lock",
            "bpf_rcu_read_unlock",
            "bpf_preempt_disable",
            "bpf_preempt_enable",
            "scx_bpf_put_cpumask",
            "scx_bpf_put_idle_cpumask",
            "scx_bpf_get_online_cpumask",
            "scx_bpf_get_possible_cpumask",
            "scx_bpf_nr_cpu_ids",
            "scx_bpf_nr_node_ids",
            "scx_bpf_nr_cids",
            "scx_bpf_nr_online_cids",
            "scx_bpf_this_cid",
            "scx_bpf_task_cid",
            "scx_bpf_task_running",
            "scx_bpf_task_cpu",
            "scx_bpf_dispatch_nr_slots",
            "scx_bpf_dispatch_cancel",
        ],
    ),
    // Looks up the calling scheduler and checks an argument, then reads or writes one field.
    group(
        16,
        0,
        &[
            "scx_bpf_task_set_slice",
            "scx_bpf_task_set_dsq_vtime",
            "scx_bpf_cpu_node",
            "scx_bpf_cpu_curr",
            "scx_bpf_cid_to_cpu",
            "scx_bpf_cpu_to_cid",
            "scx_bpf_cid_curr",
            "scx_bpf_cidperf_cap",
            "scx_bpf_cidperf_cur",
            "scx_bpf_sub_dispatch",
            "scx_bpf_cpu_rq",
            "scx_bpf_get_idle_cpumask",
            "scx_bpf_get_idle_smtmask",
            "scx_bpf_get_idle_cpumask_node",
            "scx_bpf_get_idle_smtmask_node",
            "scx_bpf_cpuperf_cap",
            "scx_bpf_cpuperf_cur",
            "scx_bpf_dsq_move_set_slice",
            "scx_bpf_dsq_move_set_vtime",
            "bpf_get_current_pid_tgid",
        ],
    ),
    // One bit of a mask, atomically or not: the mask's size does not matter.
    group(
        8,
        0,
        &[
            "bpf_cpumask_test_cpu",
            "bpf_cpumask_set_cpu",
            "bpf_cpumask_clear_cpu",
            "bpf_cpumask_test_and_set_cpu",
            "bpf_cpumask_test_and_clear_cpu",
        ],
    ),
    // Over all words of one mask: loop, load, test or count.
    group(
        10,
        3,
        &[
            "bpf_cpumask_empty",
            "bpf_cpumask_full",
            "bpf_cpumask_first",
            "bpf_cpumask_first_zero",
            "bpf_cpumask_weight",
            "bpf_cpumask_clear",
            "bpf_cpumask_setall",
        ],
    ),
    // Over all words of two masks: two loads, an operation, perhaps a store.
    group(
        10,
        5,
        &[
            "bpf_cpumask_and",
            "bpf_cpumask_or",
            "bpf_cpumask_xor",
            "bpf_cpumask_copy",
            "bpf_cpumask_equal",
            "bpf_cpumask_subset",
            "bpf_cpumask_intersects",
            "bpf_cpumask_first_and",
        ],
    ),
    // A search over the words that begins where this CPU's last one ended.
    group(20, 5, &["bpf_cpumask_any_distribute", "bpf_cpumask_any_and_distribute"]),
    // From the BPF allocator's per-CPU cache, or back to it: a list operation and zeroing.
    group(
        60,
        1,
        &[
            "bpf_cpumask_create",
            "bpf_cpumask_release",
            "bpf_cpumask_acquire",
            "bpf_obj_new_impl",
            "bpf_obj_drop_impl",
        ],
    ),
    // The clock: reading the time stamp counter takes about 25 cycles, scaling it a few more.
    group(60, 0, &["bpf_ktime_get_ns", "bpf_ktime_get_boot_ns", "bpf_get_prandom_u32"]),
    // This runqueue's cached clock, usually without reading the counter.
    group(15, 0, &["scx_bpf_now"]),
    // Array look-ups are inlined; a per-CPU one on another CPU adds an address computation. The
    // look-up of hash maps is priced below, by map type.
    group(8, 0, &["bpf_map_lookup_elem", "bpf_map_lookup_percpu_elem"]),
    // Local storage: the owner's cache slot, then its list.
    group(30, 0, &["bpf_task_storage_get", "bpf_cgrp_storage_get"]),
    // Allocates or frees an element, links or unlinks it under the bucket's lock.
    group(
        120,
        1,
        &[
            "bpf_map_update_elem",
            "bpf_map_delete_elem",
            "bpf_task_storage_delete",
            "bpf_cgrp_storage_delete",
            "bpf_map_push_elem",
            "bpf_map_pop_elem",
            "bpf_map_peek_elem",
        ],
    ),
    // Interrupts off or on, and the call; the lock itself costs what any lock does (`lock_acquire_ns`).
    group(
        12,
        0,
        &[
            "bpf_spin_lock",
            "bpf_spin_unlock",
            "bpf_res_spin_lock",
            "bpf_res_spin_unlock",
            "bpf_res_spin_lock_irqsave",
            "bpf_res_spin_unlock_irqrestore",
        ],
    ),
    // Looks a number up in a tree or table under RCU and takes a reference.
    group(
        70,
        0,
        &[
            "bpf_task_from_pid",
            "bpf_task_from_vpid",
            "scx_bpf_tid_to_task",
            "bpf_cgroup_from_id",
            "bpf_cgroup_ancestor",
            "bpf_task_under_cgroup",
            "bpf_task_get_cgroup1",
            "scx_bpf_task_cgroup",
        ],
    ),
    // A few levels of a tree; each comparison is a call of the scheduler's own, counted as it runs.
    group(60, 0, &["bpf_rbtree_add_impl", "bpf_rbtree_remove"]),
    group(15, 0, &["bpf_rbtree_first"]),
    // A reference count up or down.
    group(12, 0, &["bpf_task_acquire", "bpf_task_release", "bpf_cgroup_acquire", "bpf_cgroup_release"]),
    // Finds the queue (a hash table under RCU) and reads a count or its first entry.
    group(40, 0, &["scx_bpf_dsq_nr_queued", "scx_bpf_dsq_peek"]),
    // Inserts are checked, then noted: the queue itself is touched after the callback.
    group(
        50,
        0,
        &["scx_bpf_dsq_insert", "scx_bpf_dispatch", "scx_bpf_dsq_insert_vtime", "__scx_bpf_dsq_insert_vtime"],
    ),
    // Commits what was noted, then unlinks the first task from one queue and links it to another.
    group(150, 0, &["scx_bpf_dsq_move_to_local", "scx_bpf_consume"]),
    // Finds both queues, checks the cursor, unlinks and links.
    group(180, 0, &["scx_bpf_dsq_move", "scx_bpf_dsq_move_vtime", "__scx_bpf_dsq_move_vtime"]),
    // Walks the CPUs; adding up the counters is charged separately.
    group(30, 0, &["scx_bpf_events"]),
    // A cursor is linked into the queue or taken out, under the queue's lock.
    group(50, 0, &["bpf_iter_scx_dsq_new", "bpf_iter_scx_dsq_destroy"]),
    // The cursor moves one entry on.
    group(30, 0, &["bpf_iter_scx_dsq_next"]),
    // Claims one CPU: a bit, and its core's bits.
    group(25, 0, &["scx_bpf_test_and_clear_cpu_idle"]),
    // Searches the idle masks word by word, then claims.
    group(
        50,
        5,
        &[
            "scx_bpf_pick_idle_cpu",
            "scx_bpf_pick_idle_cpu_node",
            "scx_bpf_pick_any_cpu",
            "scx_bpf_pick_any_cpu_node",
        ],
    ),
    // The whole default choice: several such searches if the first ones fail.
    group(100, 12, &["scx_bpf_select_cpu_dfl", "scx_bpf_select_cpu_and", "__scx_bpf_select_cpu_and"]),
    // Marks a CPU in this CPU's kick masks and queues the irq_work that sends it.
    group(60, 0, &["scx_bpf_kick_cpu", "scx_bpf_kick_cid"]),
    // Updates the frequency request of a runqueue under its lock.
    group(80, 0, &["scx_bpf_cpuperf_set", "scx_bpf_cidperf_set"]),
    // Cancels or starts a high-resolution timer: a tree of timers, and the clock device.
    group(200, 0, &["bpf_timer_start", "bpf_timer_cancel", "bpf_timer_cancel_async"]),
    // Allocates the timer, or swaps its callback under its lock.
    group(60, 0, &["bpf_timer_set_callback"]),
    group(250, 0, &["bpf_timer_init"]),
    // Allocates a queue, with a part for each CPU; initialisation only.
    group(600, 0, &["scx_bpf_create_dsq"]),
    group(200, 0, &["scx_bpf_destroy_dsq"]),
    // Walks a queue and marks what is to be enqueued again; the work itself is charged later.
    group(80, 0, &["scx_bpf_reenqueue_local", "scx_bpf_dsq_reenq"]),
    // Copies with page faults caught, one word per step.
    group(
        30,
        2,
        &[
            "bpf_probe_read_kernel",
            "bpf_probe_read_user",
            "bpf_probe_read",
            "bpf_probe_read_kernel_str",
            "bpf_probe_read_str",
            "bpf_strncmp",
        ],
    ),
    // Formats text: a conversion is about a hundred instructions, most texts have two to four.
    group(
        600,
        8,
        &[
            "bpf_trace_printk",
            "bpf_trace_vprintk",
            "bpf_snprintf",
            "bpf_seq_write",
            "scx_bpf_error_bstr",
            "scx_bpf_exit_bstr",
            "scx_bpf_dump_bstr",
            "bpf_stream_vprintk",
        ],
    ),
    // Ring buffers: reserve under a lock, or commit and perhaps wake the reader.
    group(70, 0, &["bpf_ringbuf_reserve", "bpf_ringbuf_submit", "bpf_ringbuf_discard", "bpf_ringbuf_query"]),
    group(150, 0, &["bpf_user_ringbuf_drain"]),
    // Allocates pages and maps them, or the reverse; each page is charged separately.
    group(800, 0, &["bpf_arena_alloc_pages", "bpf_arena_free_pages"]),
    group(80, 0, &["bpf_arena_reserve_pages"]),
];

/// The price of a look-up in a hash map, which is not inlined: hash the key, walk the bucket.
pub const HASH_LOOKUP: Price = Price { insns: 45, per_word: 4 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_flavours_cost_the_same() {
        let check = |name, expected| assert_eq!(price(name), price(expected), "{name}");
        check("scx_bpf_dsq_insert___v2___compat", "scx_bpf_dsq_insert");
        check("scx_bpf_dsq_move_to_local___v1", "scx_bpf_dsq_move_to_local");
        check("no_such_function", "another");
        assert_eq!(price("bpf_cpumask_and").over(16), 10 + 5 * 16);
    }

    #[test]
    fn no_function_has_two_prices() {
        let mut names: Vec<_> = GROUPS.iter().flat_map(|g| g.names).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn what_schedulers_use_most_is_priced() {
        for name in MOST_USED.split_whitespace() {
            assert!(is_priced(name), "{name}");
        }
    }

    /// The kfuncs and helpers that at least three of 26 known schedulers call.
    const MOST_USED: &str = include_str!("most_used.txt");
}
