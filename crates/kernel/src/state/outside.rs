//! Events from outside, and their progress: the timeline's entries, and hotplug.

use keel_abi::timeline::{Change, Happening};
use keel_abi::{CpuId, Instant, TaskId};
use std::collections::{BTreeMap, VecDeque};

/// An entry and its progress.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) happening: Happening,
    /// How many times it has begun.
    pub(crate) begun: u32,
    /// When it was last due.
    pub(crate) due: Instant,
}

/// The timeline of a run.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    pub(crate) entries: Vec<Entry>,
    /// The tasks of each spec that an entry refers to, by the spec's number.
    pub(crate) members: BTreeMap<u32, Vec<TaskId>>,
    /// Entries that came due while the scheduler was being enabled or disabled, with their progress.
    pub(crate) waiting: Vec<(u32, u32)>,
    /// Where the last search for a CPU of a new mask ended (`distribute_cpu_mask_prev`).
    pub(crate) spread: u32,
    pub(crate) hotplug: Hotplug,
}

impl Outside {
    /// The machine's entries come first, then the workload's.
    pub(crate) fn new(cpus: u32, entries: impl Iterator<Item = Happening>) -> Self {
        let entries: Vec<Entry> =
            entries.map(|happening| Entry { happening, begun: 0, due: Instant::ZERO }).collect();
        let specs = entries.iter().filter_map(|e| e.happening.change.spec());
        Self {
            members: specs.map(|spec| (spec, Vec::new())).collect(),
            hotplug: Hotplug::new(cpus),
            entries,
            ..Self::default()
        }
    }

    /// A task of the workload has been created.
    pub(crate) fn add(&mut self, spec: u32, task: TaskId) {
        if let Some(members) = self.members.get_mut(&spec) {
            members.push(task);
        }
    }

    pub(crate) fn change(&self, entry: u32) -> &Change {
        &self.entries[entry as usize].happening.change
    }

    /// Returns whether the next entry belongs to this one.
    pub(crate) fn has_follower(&self, entry: u32) -> bool {
        self.entries.get(entry as usize + 1).is_some_and(|next| next.happening.follows)
    }

    /// The `nth` CPU or task that an entry refers to.
    pub(crate) fn member(&self, entry: u32, nth: u32) -> Option<Member> {
        match self.change(entry) {
            Change::Offline(cpus) | Change::Online(cpus) => cpus.iter().nth(nth as usize).map(Member::Cpu),
            Change::Affinity { spec, .. } | Change::Nice { spec, .. } | Change::Policy { spec, .. } => {
                self.members[spec].get(nth as usize).map(|&task| Member::Task(task))
            }
        }
    }
}

/// A CPU or task that an entry refers to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Member {
    Cpu(CpuId),
    Task(TaskId),
}

/// The machine's hotplug state.
#[derive(Debug, Default)]
pub(crate) struct Hotplug {
    /// The number of changes (`scx_hotplug_seq`). Booting brought up all CPUs but the first.
    pub(crate) seq: u64,
    /// The change in progress: entry, and the number of its CPU.
    pub(crate) busy: Option<(u32, u32)>,
    /// The changes that wait.
    pub(crate) waiting: VecDeque<(u32, u32)>,
}

impl Hotplug {
    pub(crate) fn new(cpus: u32) -> Self {
        Self { seq: u64::from(cpus - 1), ..Self::default() }
    }
}
