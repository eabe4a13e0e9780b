//! Measures the transfer of a cache line that two CPUs write in turn.

use super::pinned::{on, pin};
use super::spread::Spread;
use keel_abi::CpuId;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const REPEATS: usize = 15;
const ROUNDS: u32 = 2_000;
/// How long to wait for the other CPU: in a guest, both may share one real CPU, and the host decides whose turn it is.
const PATIENCE: Duration = Duration::from_millis(400);
/// Not a turn: it tells both threads to end.
const OVER: u32 = u32::MAX;

#[repr(align(128))]
struct Line(AtomicU32);

impl Line {
    /// Waits for `turn` and sets `next`. Returns `false` at the end.
    fn turn(&self, turn: u32, next: u32, until: Instant) -> bool {
        let mut spins = 0_u32;
        while self.0.load(Ordering::Acquire) != turn {
            spins = spins.wrapping_add(1);
            if self.0.load(Ordering::Relaxed) == OVER || spins.is_multiple_of(4096) && Instant::now() > until
            {
                return false;
            }
            std::hint::spin_loop();
        }
        self.0.store(next, Ordering::Release);
        true
    }
}

/// Measures one transfer between CPUs `a` and `b`.
pub(super) fn transfer(a: CpuId, b: CpuId) -> Option<Spread> {
    let (line, until) = (Line(AtomicU32::new(0)), Instant::now() + 2 * PATIENCE);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if pin(b).is_some() {
                while line.turn(1, 0, until) {}
            }
        });
        let measured = on(a, || {
            let until = Instant::now() + PATIENCE;
            let mut measured = Vec::new();
            while measured.len() < REPEATS && Instant::now() < until {
                let begun = Instant::now();
                if !(0..ROUNDS).all(|_| line.turn(0, 1, until)) {
                    break;
                }
                measured.push((begun.elapsed().as_nanos() * 1000 / (2 * u128::from(ROUNDS))) as u64);
            }
            measured
        });
        line.0.store(OVER, Ordering::Release);
        Spread::of(measured?)
    })
}
