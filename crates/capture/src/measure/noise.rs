//! What takes a CPU from a thread that only looks at the clock: ticks, interrupts, other tasks.

use super::pinned::on;
use super::spread::Spread;
use keel_abi::CpuId;
use std::time::{Duration, Instant};

const REPEATS: usize = 10;
const LOOK: Duration = Duration::from_millis(50);
/// Two looks that are further apart have something between them.
const GAP: Duration = Duration::from_micros(1);

/// Time that was taken, in each second.
pub(super) fn noise(cpu: CpuId) -> Option<Spread> {
    on(cpu, || {
        let once = |_| {
            let (begun, mut taken) = (Instant::now(), Duration::ZERO);
            let mut last = begun;
            while last.duration_since(begun) < LOOK {
                let now = Instant::now();
                let apart = now.duration_since(last);
                if apart > GAP {
                    taken += apart;
                }
                last = now;
            }
            (taken.as_nanos() * 1000 * 1_000_000_000 / LOOK.as_nanos()) as u64
        };
        Spread::of((0..REPEATS).map(once))
    })?
}
