//! The progress of balancing on each CPU: searches by CPUs that run out of tasks, periodic walks over levels, and
//! balancing for idle CPUs.

use keel_abi::{CpuSet, Instant};

/// An attempt in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// When the current level was begun, and the cost of the levels before.
    pub(crate) began: Instant,
    pub(crate) spent_ns: u64,
    /// How many tasks a success counts for: the attempts that were allowed at random also represent those that were
    /// not.
    pub(crate) weight: u32,
}

impl Search {
    pub(crate) const NONE: Self = Self { began: Instant::ZERO, spent_ns: 0, weight: 1 };
}

/// What a woken CPU has to do (`NOHZ_*_KICK`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kick {
    /// Update averages.
    pub(crate) stats: bool,
    /// Balance.
    pub(crate) balance: bool,
    /// Compute when the next balancing is due.
    pub(crate) next: bool,
}

impl Kick {
    pub(crate) const ALL: Self = Self { stats: true, balance: true, next: false };

    pub(crate) fn is_any(self) -> bool {
        self.stats || self.balance || self.next
    }
}

/// The machine's CPUs without a tick (`nohz`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Nohz {
    pub(crate) idle: CpuSet,
    /// Their averages may be above 0.
    pub(crate) has_blocked: bool,
    /// A CPU has joined whose balancing may be due sooner.
    pub(crate) needs_update: bool,
    /// In ticks.
    pub(crate) next_balance: u64,
    pub(crate) next_blocked: u64,
    /// By CPU: what it has been woken for.
    pub(crate) kicks: Vec<Kick>,
    /// By CPU: its averages may be above 0.
    pub(crate) blocked: Vec<bool>,
    /// In the walk of the CPU that balances for all: are some averages still above 0?
    pub(crate) still_blocked: bool,
}

impl Nohz {
    pub(super) fn new(cpus: u32) -> Self {
        let cpus = cpus as usize;
        Self {
            idle: CpuSet::first(cpus as u32),
            kicks: vec![Kick::default(); cpus],
            blocked: vec![false; cpus],
            ..Self::default()
        }
    }
}

/// A walk over a CPU's levels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walk {
    /// When the first of them is due again.
    pub(crate) next: Option<u64>,
    /// The sum of the levels' search costs.
    pub(crate) search_ns: u64,
    pub(crate) forgets: bool,
    pub(crate) is_idle: bool,
    /// It holds the lock for levels that only one CPU at a time may balance (`SD_SERIALIZE`).
    pub(crate) is_serialized: bool,
}
