//! Numbers of the queue's timers: sleeping tasks have their own ids, the others are above.

/// The servers of CPUs whose sched_ext tasks starve.
pub(crate) const FIRST_SERVER: u32 = 1 << 25;
/// The servers of CPUs whose fair tasks starve.
pub(crate) const FIRST_FAIR_SERVER: u32 = 1 << 26;
/// Limits of cgroups: two timers for each group that has fair tasks, up to [`FIRST_START`].
pub(crate) const FIRST_BUDGET: u32 = 1 << 27;
/// Devices that interrupt CPUs.
pub(crate) const FIRST_INTERRUPT: u32 = 1 << 26 | 1 << 25;
/// Starting tasks of the workload.
pub(crate) const FIRST_START: u32 = 1 << 28;
/// CPUs that reach a new frequency.
pub(crate) const FIRST_FREQUENCY: u32 = FIRST_HAPPENING | 1 << 26;
/// Events from outside.
pub(crate) const FIRST_HAPPENING: u32 = 1 << 28 | 1 << 27;
/// Programs that user space runs periodically.
pub(crate) const FIRST_PROGRAM: u32 = 1 << 29;
/// BPF timers.
pub(crate) const FIRST_BPF: u32 = 1 << 30;
/// The real-time throttling period is over.
pub(crate) const RT_PERIOD: u32 = u32::MAX - 2;
/// The scheduler is reloaded.
pub(crate) const RESTART: u32 = u32::MAX - 1;
/// The stall watchdog.
pub(crate) const WATCHDOG: u32 = u32::MAX;

/// The timer numbers for the frequencies of this many CPUs.
pub(crate) const fn frequencies(cpus: usize) -> std::ops::Range<u32> {
    FIRST_FREQUENCY..FIRST_FREQUENCY + cpus as u32
}
