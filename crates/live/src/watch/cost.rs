//! Measures the cost of watching, as the kernel counts it.

use crate::record::kernel::Kernel;
use keel_abi::Span;
use libbpf_rs::libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats};
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Returns the CPU time of this process so far.
pub(super) fn process() -> Span {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    // A process's CPU time is neither negative nor 500 years.
    Span::from_ns(spent.tv_sec.unsigned_abs() * 1_000_000_000 + spent.tv_nsec.unsigned_abs())
}

/// Measures how long programs ran in the context of other code. The kernel counts this only on request, and then for
/// all programs on the machine, so counting is requested only while ours are attached.
#[derive(Debug, Default)]
pub(super) struct RunTime {
    counting: Option<OwnedFd>,
    /// Whether some time was not counted.
    is_partial: bool,
    spent_ns: u64,
}

impl RunTime {
    /// Starts counting, if allowed.
    pub(super) fn begin(&mut self) {
        self.counting = count_run_time();
        self.is_partial |= self.counting.is_none();
    }

    /// Stops counting. The programs of `kernel` ran only while it counted.
    pub(super) fn end(&mut self, kernel: &Kernel) {
        self.counting = None;
        let times: Option<Vec<u64>> = kernel.programs().map(|program| run_time_ns(&program)).collect();
        match times {
            Some(times) => self.spent_ns = times.iter().sum(),
            None => self.is_partial = true,
        }
    }

    /// Returns the time so far, or `None` if it could not be counted.
    pub(super) fn spent(&self) -> Option<Span> {
        (!self.is_partial).then_some(Span::from_ns(self.spent_ns))
    }
}

/// Returns the kernel's count for a program since it was loaded.
fn run_time_ns(program: &impl AsFd) -> Option<u64> {
    let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
    parse(&std::fs::read_to_string(path).ok()?)
}

fn parse(fdinfo: &str) -> Option<u64> {
    fdinfo.lines().find_map(|line| line.strip_prefix("run_time_ns:"))?.trim().parse().ok()
}

/// Makes the kernel count programs' run time as long as the returned descriptor is open.
#[allow(unsafe_code)]
fn count_run_time() -> Option<OwnedFd> {
    // SAFETY: the call takes a number and touches no memory of this process.
    let fd = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
    // SAFETY: a non-negative result is a file descriptor that was just opened for this owner alone.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_count_is_read() {
        let check = |text, expected| assert_eq!(parse(text), expected, "{text}");
        check("prog_type:\t26\nrun_time_ns:\t12345\nrun_cnt:\t7\n", Some(12345));
        check("prog_type:\t26\n", None);
        check("run_time_ns:\tx\n", None);
    }

    #[test]
    fn a_process_takes_time() {
        let before = process();
        let mut sum = 0u64;
        while process() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(process() > before);
    }

    #[test]
    fn what_was_not_counted_is_unknown() {
        assert_eq!(RunTime::default().spent(), Some(Span::ZERO));
        assert_eq!(RunTime { is_partial: true, ..RunTime::default() }.spent(), None);
    }
}
