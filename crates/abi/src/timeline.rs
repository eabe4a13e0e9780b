//! What happens to a machine and its tasks from outside while a run goes on. Data only.

use crate::task::Policy;
use crate::{CpuSet, Span};

/// The most entries of a timeline that workload and machine may have each.
pub const MAX_HAPPENINGS: usize = 10_000;

/// Something that is done to the machine or to tasks at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When, after the run's beginning. What happens at 0 is done before the scheduler is attached.
    pub at: Span,
    /// Once more each time so much has passed; not zero. `None` for once.
    pub every: Option<Span>,
    /// How many times in all, at least 1; `None` for once, or with `every` for ever.
    pub times: Option<u32>,
    /// It is done right after the entry before it, as a part of that: a change to several tasks may be one of
    /// several entries. Its own times don't count.
    pub follows: bool,
    /// What is done.
    pub change: Change,
}

/// What is done from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// These CPUs go offline, one after another. CPU 0 never does.
    Offline(CpuSet),
    /// These CPUs come online, one after another.
    Online(CpuSet),
    /// Somebody confines all instances of a task to these CPUs (`sched_setaffinity()`).
    Affinity {
        /// The index of the task's spec.
        spec: u32,
        /// The CPUs; not empty.
        cpus: CpuSet,
    },
    /// Somebody sets the nice value of all instances of a task (`setpriority()`).
    Nice {
        /// The index of the task's spec.
        spec: u32,
        /// -20 to 19.
        nice: i8,
    },
    /// Somebody sets the scheduling policy of all instances of a task (`sched_setscheduler()`).
    Policy {
        /// The index of the task's spec.
        spec: u32,
        /// The policy.
        policy: Policy,
    },
}

impl Change {
    /// The spec whose instances it is about, if it is about tasks.
    pub const fn spec(&self) -> Option<u32> {
        match self {
            Self::Offline(_) | Self::Online(_) => None,
            Self::Affinity { spec, .. } | Self::Nice { spec, .. } | Self::Policy { spec, .. } => Some(*spec),
        }
    }
}

/// The CPUs that are online when the scheduler is attached, on a machine with this many CPUs: all except those that a
/// timeline takes offline at 0.
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
