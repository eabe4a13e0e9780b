//! The built-in schedulers: compiled objects, as a real kernel would load them, and `eevdf`, the simulated kernel's own
//! scheduler.

use crate::spec::{ObjectBytes, SchedulerSource};
use keel_recipe::Recipe;

/// The name of the scheduler that needs no object: Linux's own fair class, which a real kernel uses when no sched_ext
/// scheduler is attached.
pub use keel_kernel::EEVDF;

include!(concat!(env!("OUT_DIR"), "/schedulers.rs"));

/// A one-line description of each, by name.
const ABOUT: &[(&str, &str)] = &[
    (
        "bsd",
        "FreeBSD before ULE: 64 queues for all CPUs, priority from decayed CPU use, round robin every 100 ms",
    ),
    (
        "cfs",
        "Linux 3.17 to 4.3: vruntime, groups, domains; the Wasted Cores paper's four bugs (--set bug=group-imbalance, ...)",
    ),
    (
        EEVDF,
        "Linux 7.2's own scheduler: no sched_ext scheduler is loaded, and the fair class has all ordinary tasks",
    ),
    ("fifo", "one queue for the machine, ordered by weighted vtime, or by arrival with --set fifo=1"),
    (
        "goodness",
        "Linux 2.4: one list, searched task by task under one lock; recalculates all counters at once",
    ),
    (
        "mq",
        "HP multiqueue for Linux 2.4: goodness with one list per CPU; steals if no task has time left (--set steal=0: never)",
    ),
    ("o1", "Molnar's O(1): two priority arrays per CPU, load history, a balancer (--set balance=0: none)"),
    ("percpu", "one queue per CPU and nothing shared: tasks stay where they began; a baseline"),
    ("ule", "Roberson's ULE: two queues per CPU, interactivity scores (--set posted=1: as of January 2003)"),
];

/// Returns the built-in schedulers: the name of each, and a one-line description.
pub fn list() -> Vec<(String, String)> {
    let about = |name: &str| ABOUT.iter().find(|(n, _)| *n == name).map_or("", |(_, line)| line);
    let mut names: Vec<&str> = OBJECTS.iter().map(|(name, _)| *name).chain([EEVDF]).collect();
    names.sort_unstable();
    names.into_iter().map(|name| (name.to_owned(), about(name).to_owned())).collect()
}

/// Returns the built-in scheduler with this name, as a run takes it.
pub fn source(name: &str) -> Option<SchedulerSource> {
    let bytes = match name {
        EEVDF => ObjectBytes::NONE,
        _ => ObjectBytes::built_in(built_in(name)?),
    };
    Some(SchedulerSource { name: name.to_owned(), bytes, recipe: Recipe::default() })
}

/// Returns the compiled object with this name. `eevdf` has none.
pub fn built_in(name: &str) -> Option<&'static [u8]> {
    OBJECTS.iter().find(|(n, _)| *n == name).map(|(_, bytes)| *bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_is_described() {
        for (name, line) in list() {
            assert!(!line.is_empty(), "{name}");
            let source = source(&name).expect(&name);
            assert_eq!(source.bytes.get().is_none(), name == EEVDF, "{name}");
        }
        assert!(source("no such scheduler").is_none());
    }
}
