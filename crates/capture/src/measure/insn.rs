//! Measures an instruction that depends on the one before it: a cycle on hardware, much more in an emulator.

use super::pinned::on;
use super::spread::Spread;
use keel_abi::CpuId;
use std::time::Instant;

const REPEATS: usize = 15;
const ROUNDS: u32 = 20_000;
/// Instructions per round, each dependent on the one before.
const CHAIN: u128 = 24;

/// Measures one instruction of a chain of additions and similar operations.
pub(super) fn instruction(cpu: CpuId) -> Option<Spread> {
    on(cpu, || {
        let once = |seed: usize| {
            // The compiler does not know the value, so it cannot fold the chain.
            let (a, b) = std::hint::black_box((seed as u64 | 1, !seed as u64));
            let (begun, mut x) = (Instant::now(), a);
            for _ in 0..ROUNDS {
                x = round(x, a, b);
            }
            std::hint::black_box(x);
            (begun.elapsed().as_nanos() * 1000 / (u128::from(ROUNDS) * CHAIN)) as u64
        };
        Spread::of((0..REPEATS).map(once))
    })?
}

/// Executes an addition and an exclusive or, twelve times.
#[inline]
fn round(mut x: u64, a: u64, b: u64) -> u64 {
    for _ in 0..CHAIN / 2 {
        x = x.wrapping_add(a) ^ b;
    }
    x
}
