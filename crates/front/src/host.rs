//! What the host says of this process.

use rustix::process::{Resource, getrlimit};
use std::num::NonZeroUsize;

/// A run reserves no more address space than this, in bytes: simulated memory, the tables beside it, and an arena.
const RUN_BYTES: u64 = 24 << 30;

/// Parallel runs: no more than make sense on this host, nor than its limit on address space (`ulimit -v`) allows.
/// `None` is one for each CPU.
pub fn jobs(asked: Option<NonZeroUsize>) -> Option<NonZeroUsize> {
    let asked = asked.map(|asked| asked.min(most_jobs()));
    let Some(limit) = getrlimit(Resource::As).current else { return asked };
    let fit = usize::try_from(limit / RUN_BYTES).unwrap_or(usize::MAX);
    let fit = NonZeroUsize::new(fit).unwrap_or(NonZeroUsize::MIN);
    Some(asked.or(std::thread::available_parallelism().ok()).map_or(fit, |jobs| jobs.min(fit)))
}

/// Can two threads execute at once?
pub fn has_several_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1)
}

/// Threads beyond these gain nothing, and each run has memory of its own.
pub fn most_jobs() -> NonZeroUsize {
    let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new((4 * cpus).max(64)).unwrap_or(NonZeroUsize::MIN)
}

/// The most memory that this process has had, in bytes; `None` where the host does not say.
pub fn peak_rss_bytes() -> Option<u64> {
    peak_rss_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// `VmHWM` in the text of `/proc/PID/status`.
fn peak_rss_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::peak_rss_in;

    #[test]
    fn the_high_water_mark_is_read() {
        let check = |text, expected| assert_eq!(peak_rss_in(text), expected, "{text}");
        check("Name:\tkeel\nVmPeak:\t  9 kB\nVmHWM:\t    2048 kB\n", Some(2 << 20));
        check("VmHWM:\t x kB", None);
        check("", None);
    }
}
