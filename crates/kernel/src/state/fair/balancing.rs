//! The progress of load balancing on each CPU: searches by CPUs that run out of tasks, periodic walks over levels, and
//! balancing for idle CPUs.

use keel_abi::{CpuSet, Instant};

/// A newidle search in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// When the search of the current level began, and the cost of the levels before it.
    pub(crate) began: Instant,
    pub(crate) spent_ns: u64,
    /// How much a success counts: attempts that are allowed at random also represent those that are not.
    pub(crate) weight: u32,
}

impl Search {
    pub(crate) const NONE: Self = Self { began: Instant::ZERO, spent_ns: 0, weight: 1 };
}

/// What a CPU is woken to do (`NOHZ_*_KICK`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kick {
    /// Whether to update averages.
    pub(crate) stats: bool,
    /// Whether to balance.
    pub(crate) balance: bool,
    /// Whether to compute when the next balancing is due.
    pub(crate) next: bool,
}

impl Kick {
    pub(crate) const ALL: Self = Self { stats: true, balance: true, next: false };

    pub(crate) fn is_any(self) -> bool {
        self.stats || self.balance || self.next
    }
}

/// The machine's tickless idle CPUs (`nohz`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Nohz {
    pub(crate) idle: CpuSet,
    /// Whether their averages may be above 0.
    pub(crate) has_blocked: bool,
    /// Whether a CPU has joined whose balancing may be due sooner.
    pub(crate) needs_update: bool,
    /// When they next balance and update averages, in ticks.
    pub(crate) next_balance: u64,
    pub(crate) next_blocked: u64,
    /// By CPU, what it has been woken to do.
    pub(crate) kicks: Vec<Kick>,
    /// By CPU, whether its averages may be above 0.
    pub(crate) blocked: Vec<bool>,
    /// During a walk for all idle CPUs, whether some averages are still above 0.
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

/// A walk over a CPU's levels (`sched_balance_domains()`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walk {
    /// When the next level is due, in ticks.
    pub(crate) next: Option<u64>,
    /// The sum of the levels' search costs, in nanoseconds.
    pub(crate) search_ns: u64,
    pub(crate) forgets: bool,
    pub(crate) is_idle: bool,
    /// Whether it holds the lock for levels that only one CPU at a time may balance (`SD_SERIALIZE`).
    pub(crate) is_serialized: bool,
}
