//! How often a machine's noise comes, and how much it is. `docs/explanation/noise.md` has each figure with its source.
//!
//! What the kernel executes is counted in instructions, at the machine's price of one, so that slow machines take longer
//! for it.

use keel_abi::{Noise, Span};

/// A kernel thread that wakes again and again, works a little and sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    /// From one wakeup to the next, on average: half to one and a half times as long.
    pub(super) every: Span,
    /// The work of each wakeup, on average: half to one and a half times as much.
    pub(super) insns: u64,
    /// Whether it sleeps with a deferrable timer.
    pub(super) deferrable: bool,
}

/// What goes on beside a workload.
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
    /// From one interrupt beside the tick to the next on each CPU, on average: uniform from 0 to twice that.
    pub(crate) interrupt_every: Span,
    /// The work of an interrupt and its softirq, on average: uniform from 0 to twice that.
    pub(crate) interrupt_insns: u64,
    /// By how many thousandths the length of work varies at most, up or down.
    pub(crate) work_per_mille: u64,
}

impl Profile {
    /// The profile of a level; none where nothing goes on.
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
