//! The frequency and amount of a machine's noise. `docs/explanation/noise.md` has each figure with its source.
//!
//! The kernel's work is counted in instructions at the machine's price, so that it takes longer on slow machines.

use keel_abi::{Noise, Span};

/// A kernel thread that repeatedly wakes, works a little and sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    /// The mean time from one wakeup to the next: each is half to one and a half times as long.
    pub(super) every: Span,
    /// The mean work of each wakeup: each is half to one and a half times as much.
    pub(super) insns: u64,
    /// Whether it sleeps with a deferrable timer.
    pub(super) deferrable: bool,
}

/// The activity besides a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    /// Each CPU's own worker thread.
    pub(super) worker: Thread,
    /// The worker thread that may run on any CPU.
    pub(super) unbound_worker: Thread,
    /// `rcu_preempt`.
    pub(super) rcu: Thread,
    /// `kcompactd` of each node.
    pub(super) compactor: Thread,
    /// The mean time between two interrupts other than the tick on each CPU: uniform from 0 to twice that.
    pub(crate) interrupt_every: Span,
    /// The mean work of an interrupt and its softirq: uniform from 0 to twice that.
    pub(crate) interrupt_insns: u64,
    /// The most that the length of work varies up or down, in thousandths.
    pub(crate) work_per_mille: u64,
}

impl Profile {
    /// The profile of a noise level; `None` without noise.
    pub(super) const fn of(noise: Noise) -> Option<&'static Self> {
        match noise {
            Noise::None => None,
            Noise::Quiet => Some(&QUIET),
            Noise::Busy => Some(&BUSY),
        }
    }
}

const fn thread(every_ms: u64, insns: u64, deferrable: bool) -> Thread {
    Thread { every: Span::from_ms(every_ms), insns, deferrable }
}

const QUIET: Profile = Profile {
    worker: thread(1_000, 12_000, true),
    unbound_worker: thread(1_500, 12_000, false),
    rcu: thread(750, 5_000, false),
    compactor: thread(500, 5_000, false),
    interrupt_every: Span::from_us(33_000),
    interrupt_insns: 10_000,
    work_per_mille: 5,
};

const BUSY: Profile = Profile {
    worker: thread(30, 400_000, false),
    unbound_worker: thread(100, 400_000, false),
    rcu: thread(10, 5_000, false),
    compactor: thread(500, 5_000, false),
    interrupt_every: Span::from_us(15_000),
    interrupt_insns: 40_000,
    work_per_mille: 20,
};
