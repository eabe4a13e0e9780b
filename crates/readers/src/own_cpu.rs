//! The kernel's own threads of one CPU, by the names that it gives them (`kthread_create_on_cpu()`).
//!
//! Recordings by other tools do not say which CPUs a task may use. Of these threads it is known: they wait for their
//! own CPU whatever else idles. A task of a user who took such a name is taken for one of them, and so never makes a
//! core look wasted.

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

/// The CPU of the thread with this name, where it has one.
pub(crate) fn of(name: &str) -> Option<CpuId> {
    let (kind, rest) = name.split_once('/')?;
    if !NAMES.contains(&kind) {
        return None;
    }
    // kworker/3:1H is CPU 3's; kworker/u8:2 is nobody's.
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
