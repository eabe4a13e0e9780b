//! Facts about the host and this process: CPUs, limits and memory.

use rustix::process::{Resource, getrlimit};
use std::num::NonZeroUsize;

/// The maximum address space that a run reserves, in bytes: simulated memory, its tables, and an arena.
const RUN_BYTES: u64 = 24 << 30;

/// Returns the number of parallel runs, at most what is sensible on this host and what its limit on address space
/// (`ulimit -v`) allows. `None` asks for one per CPU.
pub fn jobs(asked: Option<NonZeroUsize>) -> Option<NonZeroUsize> {
    let asked = asked.map(|asked| asked.min(most_jobs()));
    let Some(limit) = getrlimit(Resource::As).current else { return asked };
    let fit = usize::try_from(limit / RUN_BYTES).unwrap_or(usize::MAX);
    let fit = NonZeroUsize::new(fit).unwrap_or(NonZeroUsize::MIN);
    Some(asked.or(std::thread::available_parallelism().ok()).map_or(fit, |jobs| jobs.min(fit)))
}

/// Returns whether two threads can execute at once.
pub fn has_several_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1)
}

/// Returns the maximum number of parallel runs. More threads gain nothing, and each run has its own memory.
pub fn most_jobs() -> NonZeroUsize {
    let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new((4 * cpus).max(64)).unwrap_or(NonZeroUsize::MIN)
}

/// Returns the peak memory of this process, in bytes, or `None` if the host does not report it.
pub fn peak_rss_bytes() -> Option<u64> {
    peak_rss_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// Returns `VmHWM` from the text of `/proc/PID/status`, in bytes.
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
