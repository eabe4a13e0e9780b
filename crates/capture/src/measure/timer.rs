//! Measures how late a sleeping thread runs.

use super::pinned::on;
use super::spread::Spread;
use keel_abi::CpuId;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

const SLEEPS: usize = 100;
const SLEEP: Duration = Duration::from_millis(1);

/// Measures the time from a timer's expiry until the thread that waits for it runs.
pub(super) fn late(cpu: CpuId) -> Option<Spread> {
    on(cpu, || {
        let once = |_| {
            let begun = Instant::now();
            std::thread::sleep(SLEEP);
            (begun.elapsed().saturating_sub(SLEEP).as_nanos() * 1000) as u64
        };
        Spread::of((0..SLEEPS).map(once))
    })?
}

/// Measures the same for a thread that waits without slack, on a CPU that was idle.
pub(super) fn prompt(cpu: CpuId) -> Option<Spread> {
    on(cpu, || {
        set_current_timer_slack(NonZeroU64::new(1)).ok()?;
        let once = |_| {
            let until = nanoseconds(clock_gettime(ClockId::Monotonic)) + SLEEP.as_nanos() as i64;
            let at = Timespec { tv_sec: until / 1_000_000_000, tv_nsec: until % 1_000_000_000 };
            clock_nanosleep_absolute(ClockId::Monotonic, &at).ok()?;
            u64::try_from(nanoseconds(clock_gettime(ClockId::Monotonic)) - until).ok().map(|ns| ns * 1000)
        };
        Spread::of((0..SLEEPS).filter_map(once))
    })?
}

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
