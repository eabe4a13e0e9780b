//! The kernel's per-CPU threads, by their names (`kthread_create_on_cpu()`).
//!
//! Recordings by other tools don't have the CPUs that a task may use. For these threads they are known: they wait for
//! their own CPU even if others idle. A user's task with such a name counts as one of them, and so never makes a core
//! look wasted.

use keel_abi::CpuId;

const NAMES: [&str; 11] = [
    "cpuhp",
    "migration",
    "ksoftirqd",
    "kworker",
    "rcuc",
    "idle_inject",
    "irq_work",
    "ktimers",
    "posixcputmr",
    "backlog_napi",
    "watchdog",
];

/// Returns the CPU of the thread with this name, if it is a per-CPU thread.
pub(crate) fn of(name: &str) -> Option<CpuId> {
    let (kind, rest) = name.split_once('/')?;
    if !NAMES.contains(&kind) {
        return None;
    }
    // kworker/3:1H belongs to CPU 3; kworker/u8:2 belongs to no CPU.
    let cpu = rest.split_once(':').map_or(rest, |(cpu, _)| cpu);
    cpu.parse().ok().filter(|&cpu| cpu < keel_abi::cpuset::MAX_CPUS).map(CpuId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_cpu_have_it_in_their_names() {
        let check = |name, expected: Option<u32>| assert_eq!(of(name), expected.map(CpuId), "{name}");
        check("kworker/3:1H", Some(3));
        check("migration/12", Some(12));
        check("kworker/u8:2", None);
        check("kworker/R-rcu_g", None);
        check("make/3", None);
        check("ksoftirqd/99999", None);
        check("ksoftirqd", None);
    }
}
