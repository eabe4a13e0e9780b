//! Numbers of the queue's timers: sleeping tasks have their own ids, the others are above.

/// The servers of CPUs whose tasks of sched_ext starve.
pub(crate) const FIRST_SERVER: u32 = 1 << 25;
/// The servers of CPUs whose fair tasks starve.
pub(crate) const FIRST_FAIR_SERVER: u32 = 1 << 26;
/// Limits of cgroups: two of each group that fair tasks are in, up to [`FIRST_START`].
pub(crate) const FIRST_BUDGET: u32 = 1 << 27;
/// Devices that interrupt CPUs.
pub(crate) const FIRST_INTERRUPT: u32 = 1 << 26 | 1 << 25;
/// Starting tasks of the workload.
pub(crate) const FIRST_START: u32 = 1 << 28;
/// CPUs that come to a new frequency.
pub(crate) const FIRST_FREQUENCY: u32 = FIRST_HAPPENING | 1 << 26;
/// What happens from outside.
pub(crate) const FIRST_HAPPENING: u32 = 1 << 28 | 1 << 27;
/// Programs that user space runs again and again.
pub(crate) const FIRST_PROGRAM: u32 = 1 << 29;
/// BPF timers.
pub(crate) const FIRST_BPF: u32 = 1 << 30;
/// The period of real-time tasks' time is over.
pub(crate) const RT_PERIOD: u32 = u32::MAX - 2;
/// The scheduler is loaded again.
pub(crate) const RESTART: u32 = u32::MAX - 1;
/// The stall watchdog.
pub(crate) const WATCHDOG: u32 = u32::MAX;

/// The numbers of so many CPUs' frequencies.
pub(crate) const fn frequencies(cpus: usize) -> std::ops::Range<u32> {
    FIRST_FREQUENCY..FIRST_FREQUENCY + cpus as u32
}
