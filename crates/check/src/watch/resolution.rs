//! How waste ends.

use keel_abi::{CpuId, TaskId};
use keel_trace::{Event, What, Why};
use std::collections::BTreeMap;

/// Why a CPU no longer idles while tasks wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It got a woken task.
    Wakeup,
    /// It got a new task.
    Fork,
    /// It got a waiting task from another CPU.
    Migration,
    /// It got a task that had waited for it, or the last waiting task got to run on its own CPU.
    Turn,
    /// The last waiting task got its own CPU, whose task went to sleep.
    Sleep,
    /// The same, but the task exited.
    Exit,
    /// CPUs went on- or offline.
    Hotplug,
    /// No waiting task may run there any more.
    Affinity,
    /// The last waiting task was throttled.
    Throttled,
    /// It was over before anybody watched.
    Unseen,
}

impl Resolution {
    /// Its stable name, as in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wakeup => "wakeup",
            Self::Fork => "fork",
            Self::Migration => "migration",
            Self::Turn => "turn",
            Self::Sleep => "sleep",
            Self::Exit => "exit",
            Self::Hotplug => "hotplug",
            Self::Affinity => "affinity",
            Self::Throttled => "throttled",
            Self::Unseen => "unseen",
        }
    }
}

/// How tasks last came to a runqueue, as far as observed.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals(BTreeMap<TaskId, Resolution>);

impl Arrivals {
    /// Remembers how a task came.
    pub(super) fn receive(&mut self, what: What) {
        match what {
            What::Wakeup { task, .. } => drop(self.0.insert(task, Resolution::Wakeup)),
            What::Fork { child, .. } => drop(self.0.insert(child, Resolution::Fork)),
            What::Migrate { task, .. } => drop(self.0.insert(task, Resolution::Migration)),
            // A task that has exited, or that runs and waits again, no longer counts as arrived.
            What::Exit { task } | What::Switch { prev: task, .. } => drop(self.0.remove(&task)),
            _ => {}
        }
    }

    /// Why `cpu` is no longer passed over after this event.
    pub(super) fn resolution(&self, cpu: CpuId, event: &Event) -> Resolution {
        match event.what {
            What::Switch { next, .. } if event.cpu == cpu => {
                self.0.get(&next).copied().unwrap_or(Resolution::Turn)
            }
            What::Switch { why: Why::Blocked, .. } => Resolution::Sleep,
            What::Switch { why: Why::Exited, .. } | What::Exit { .. } => Resolution::Exit,
            What::Online { .. } => Resolution::Hotplug,
            What::Throttled { .. } => Resolution::Throttled,
            What::Reserved { .. } => Resolution::Affinity,
            _ => Resolution::Turn,
        }
    }
}
