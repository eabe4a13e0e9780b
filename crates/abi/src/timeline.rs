//! What happens to a machine and its tasks from outside during a run, as data.

use crate::task::Policy;
use crate::{CpuSet, Span};

/// The maximum number of entries in the timeline of a workload or a machine.
pub const MAX_HAPPENINGS: usize = 10_000;

/// A change to the machine or to tasks at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When, counted from the start of the run. A change at 0 is made before the scheduler is attached.
    pub at: Span,
    /// The interval at which it is repeated; not zero. `None` for no repetition.
    pub every: Option<Span>,
    /// The total number of times, at least 1. `None` for once, or with `every` for an unlimited number.
    pub times: Option<u32>,
    /// Whether it is part of the entry before it, and made right after that: a change to several tasks may consist of
    /// several entries. Its own times are ignored.
    pub follows: bool,
    /// The change.
    pub change: Change,
}

/// A change from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// These CPUs go offline, one after another. CPU 0 never does.
    Offline(CpuSet),
    /// These CPUs come online, one after another.
    Online(CpuSet),
    /// All instances of a task are confined to these CPUs (`sched_setaffinity()`).
    Affinity {
        /// The index of the task's spec.
        spec: u32,
        /// The CPUs; not empty.
        cpus: CpuSet,
    },
    /// All instances of a task get a nice value (`setpriority()`).
    Nice {
        /// The index of the task's spec.
        spec: u32,
        /// The nice value, -20 to 19.
        nice: i8,
    },
    /// All instances of a task get a scheduling policy (`sched_setscheduler()`).
    Policy {
        /// The index of the task's spec.
        spec: u32,
        /// The policy.
        policy: Policy,
    },
}

impl Change {
    /// Returns the spec whose instances it changes, if it changes tasks.
    pub const fn spec(&self) -> Option<u32> {
        match self {
            Self::Offline(_) | Self::Online(_) => None,
            Self::Affinity { spec, .. } | Self::Nice { spec, .. } | Self::Policy { spec, .. } => Some(*spec),
        }
    }
}

/// Returns the CPUs that are online when the scheduler is attached, on a machine with this many CPUs: all except those
/// that the timeline takes offline at 0.
pub fn online_at_first<'a>(cpus: u32, timeline: impl Iterator<Item = &'a Happening>) -> CpuSet {
    let mut online = CpuSet::first(cpus);
    for happening in timeline.filter(|h| h.at == Span::ZERO) {
        match &happening.change {
            Change::Offline(gone) => gone.iter().for_each(|cpu| {
                online.remove(cpu);
            }),
            Change::Online(come) => come.iter().for_each(|cpu| {
                online.insert(cpu);
            }),
            Change::Affinity { .. } | Change::Nice { .. } | Change::Policy { .. } => {}
        }
    }
    online
}
