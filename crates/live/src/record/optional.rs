//! Lists the programs that need a function that some kernels lack or do not allow to be traced.

/// Such a program.
#[derive(Debug)]
pub(super) struct Optional {
    pub(super) program: &'static str,
    /// The function that the kernel must have.
    pub(super) needs: &'static str,
    /// Whether it traces that function itself.
    pub(super) watches: bool,
}

/// What every recording uses if possible.
pub(super) const OPTIONAL: [Optional; 13] = [
    Optional { program: "on_yield", needs: "do_sched_yield", watches: true },
    Optional { program: "after_yield", needs: "do_sched_yield", watches: true },
    Optional { program: "on_poll", needs: "__probestub_sched_wake_idle_without_ipi", watches: false },
    Optional { program: "on_interrupt", needs: "__probestub_ipi_send_cpu", watches: false },
    Optional { program: TIMER_PROGRAM, needs: "__probestub_local_timer_entry", watches: false },
    Optional { program: "after_timer_interrupt", needs: "__probestub_local_timer_exit", watches: false },
    Optional { program: "on_timer", needs: "__probestub_timer_expire_entry", watches: false },
    Optional { program: "after_timer", needs: "__probestub_timer_expire_exit", watches: false },
    Optional { program: "on_packet", needs: "__probestub_netif_rx", watches: false },
    Optional { program: "on_inherit", needs: "__probestub_sched_pi_setprio", watches: false },
    Optional { program: QUOTA_PROGRAM, needs: "tg_unthrottle_up", watches: true },
    Optional { program: "on_budget", needs: "replenish_dl_entity", watches: true },
    Optional { program: "on_affinity", needs: "set_cpus_allowed_common", watches: true },
];

/// Without this program, it is unknown what a timer wakes.
pub(super) const TIMER_PROGRAM: &str = "on_timer_interrupt";

/// The program that is called for tasks that are no longer throttled. It walks the kernel's own list of them.
pub(super) const QUOTA_PROGRAM: &str = "on_quota";

/// What recordings of the fair class's decisions also use.
pub(super) const DECISIONS: [Optional; 10] = [
    watching("on_place", "select_task_rq_fair"),
    watching("on_ask", "available_idle_cpu"),
    watching("on_ask_core", "select_idle_core"),
    watching("on_spread", "sched_balance_find_dst_group"),
    watching("on_placed", "select_task_rq_fair"),
    watching("on_balance", "sched_balance_rq"),
    watching("on_compare", "sched_balance_find_src_group"),
    watching("on_compared", "sched_balance_find_src_group"),
    watching("on_candidate", "can_migrate_task"),
    watching("on_balanced", "sched_balance_rq"),
];

/// What recordings of pipes and local sockets also use: all that a kernel has, or none.
pub(super) const PIPES: [Optional; 8] = [
    watching("on_pipe_read", "anon_pipe_read"),
    watching("after_pipe_read", "anon_pipe_read"),
    watching("on_pipe_write", "anon_pipe_write"),
    watching("after_pipe_write", "anon_pipe_write"),
    watching("on_receive", "unix_stream_recvmsg"),
    watching("after_receive", "unix_stream_recvmsg"),
    watching("on_send", "unix_stream_sendmsg"),
    watching("after_send", "unix_stream_sendmsg"),
];

const fn watching(program: &'static str, needs: &'static str) -> Optional {
    Optional { program, needs, watches: true }
}

/// Returns the functions that a kernel lacks or has inlined, and what a recording that requests these programs lacks
/// without each.
pub(super) fn missing<'a>(
    asked: impl Iterator<Item = &'static Optional> + 'a,
    loaded: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = String> + 'a {
    asked.filter(move |optional| !loaded(optional.program)).filter_map(|optional| {
        let lacks = match optional.program {
            "on_pipe_read" => "what goes through pipes",
            "on_receive" => "what goes through local sockets",
            "on_placed" => "where tasks go",
            "on_ask" => "the CPUs that a wakeup's search looked at, except the first and the last",
            "on_ask_core" => "the cores that a wakeup's search looked at",
            "on_spread" => "the groups that were compared for a new task",
            "on_balanced" => "balancings",
            "on_compare" => "the groups that a balancing compared",
            "on_candidate" => "why a balancing moved nothing",
            _ => return None,
        };
        Some(format!("{}(): {lacks}", optional.needs))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_lacks_is_named_by_function() {
        let check = |inlined: &[&str], expected: &[&str]| {
            let loaded = |program: &str| {
                let needs = DECISIONS.iter().find(|o| o.program == program).map_or("", |o| o.needs);
                !inlined.contains(&needs)
            };
            assert_eq!(missing(DECISIONS.iter(), loaded).collect::<Vec<_>>(), expected);
        };
        check(&[], &[]);
        check(
            &["available_idle_cpu"],
            &[
                "available_idle_cpu(): the CPUs that a wakeup's search looked at, except the first and the last",
            ],
        );
        check(
            &["sched_balance_find_src_group", "sched_balance_rq"],
            &[
                "sched_balance_find_src_group(): the groups that a balancing compared",
                "sched_balance_rq(): balancings",
            ],
        );
    }
}
