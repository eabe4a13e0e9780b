//! Finds complaints in a kernel's log.

/// Words in lines that report trouble: bugs, warnings, CPUs and tasks that make no progress.
const COMPLAINTS: &[&str] = &[
    "BUG:",
    "WARNING:",
    "Oops",
    "Kernel panic",
    "rcu: INFO",
    "detected stall",
    "soft lockup",
    "hard LOCKUP",
    "workqueue lockup",
    "blocked for more than",
];

/// The first complaint in the output of `dmesg`, without its time.
pub(crate) fn complaint(log: &str) -> Option<&str> {
    log.lines().map(text).find(|line| COMPLAINTS.iter().any(|words| line.contains(words)))
}

/// Why the kernel itself ended a scheduler: its messages, except those about schedulers that the user loaded or
/// unloaded.
pub(crate) fn ended(log: &str) -> Option<&str> {
    log.lines().map(text).filter_map(|line| line.strip_prefix("sched_ext: ")).find(|line| {
        !line.ends_with("\" enabled") && !line.ends_with("disabled (unregistered from user space)")
    })
}

fn text(line: &str) -> &str {
    line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map_or(line, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_found() {
        let check = |log, expected| assert_eq!(complaint(log), expected, "{log}");
        check("[   28.022279] hrtimer: interrupt took 35028099 ns\n", None);
        check(
            "[    1.0] a\n[   28.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n[ 28.1] BUG: b\n",
            Some("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"),
        );
        check(
            "[ 3.0] INFO: task sh:3 blocked for more than 120 seconds.",
            Some("INFO: task sh:3 blocked for more than 120 seconds."),
        );
    }

    #[test]
    fn ends_are_found() {
        let check = |log, expected| assert_eq!(ended(log), expected, "{log}");
        let user = "[ 1.0] sched_ext: BPF scheduler \"o1\" enabled\n\
                    [ 2.0] sched_ext: BPF scheduler \"o1\" disabled (unregistered from user space)\n";
        check(user, None);
        check(
            "[ 2.0] sched_ext: BPF scheduler \"o1\" disabled (runtime error)\n[ 2.0] sched_ext: o1: why",
            Some("BPF scheduler \"o1\" disabled (runtime error)"),
        );
    }
}
