//! What takes a CPU from a thread that only looks at the clock: ticks, interrupts, other tasks.

use super::pinned::on;
use super::spread::Spread;
use keel_abi::CpuId;
use std::time::{Duration, Instant};

const REPEATS: usize = 10;
const LOOK: Duration = Duration::from_millis(50);
/// Two looks that are so many times further apart than the nearest have something between them.
const GAP: u32 = 10;
const FIRST_LOOKS: usize = 1000;

/// Time that was taken, in each second.
pub(super) fn noise(cpu: CpuId) -> Option<Spread> {
    on(cpu, || {
        let gap = nearest() * GAP;
        let once = |_| {
            let (begun, mut taken) = (Instant::now(), Duration::ZERO);
            let mut last = begun;
            while last.duration_since(begun) < LOOK {
                let now = Instant::now();
                let apart = now.duration_since(last);
                if apart > gap {
                    taken += apart;
                }
                last = now;
            }
            (taken.as_nanos() * 1000 * 1_000_000_000 / LOOK.as_nanos()) as u64
        };
        Spread::of((0..REPEATS).map(once))
    })?
}

/// How near two looks at the clock are, with nothing between them.
fn nearest() -> Duration {
    let mut last = Instant::now();
    let apart = (0..FIRST_LOOKS).map(|_| {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut last, now))
    });
    // A clock may stand still between two looks.
    apart.filter(|apart| !apart.is_zero()).min().unwrap_or(Duration::from_nanos(100))
}
