//! How late a sleeping thread runs.

use super::pinned::on;
use super::spread::Spread;
use keel_abi::CpuId;
use std::time::{Duration, Instant};

const SLEEPS: usize = 100;
const SLEEP: Duration = Duration::from_millis(1);

/// From a timer's moment until the thread that waited for it runs.
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
