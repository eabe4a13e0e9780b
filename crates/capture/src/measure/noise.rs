//! Measures what takes a CPU from a thread that only reads the clock: ticks, interrupts, other tasks.

use super::pinned::on;
use super::spread::Spread;
use keel_abi::CpuId;
use std::time::{Duration, Instant};

const REPEATS: usize = 10;
const LOOK: Duration = Duration::from_millis(50);
/// Two readings that are this many times further apart than the closest ones were interrupted.
const GAP: u32 = 10;
const FIRST_LOOKS: usize = 1000;
/// If a busy CPU was interrupted this often, in percent of its ticks, most interruptions were ticks.
const MOSTLY_TICKS_PERCENT: std::ops::RangeInclusive<u64> = 80..=150;

/// What was taken from a busy CPU.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// Time per second.
    pub(super) per_second: Spread,
    /// Time per interruption.
    at_once: Option<Spread>,
    /// Interruptions per second.
    times: u64,
}

impl Noise {
    /// Returns the time of a tick, if most interruptions were ticks of this rate.
    pub(super) fn tick(&self, hz: u64) -> Option<&Spread> {
        let percent = self.times * 100 / hz.max(1);
        self.at_once.as_ref().filter(|_| MOSTLY_TICKS_PERCENT.contains(&percent))
    }
}

/// Measures what is taken from a busy CPU.
pub(super) fn noise(cpu: CpuId) -> Option<Noise> {
    on(cpu, || {
        let nearest = nearest();
        let taken: Vec<Vec<Duration>> = (0..REPEATS).map(|_| interruptions(nearest)).collect();
        of(&taken, nearest)
    })?
}

/// Combines the results of all measurements.
fn of(taken: &[Vec<Duration>], nearest: Duration) -> Option<Noise> {
    let looked = LOOK * taken.len() as u32;
    let in_a_second = |taken: &Vec<Duration>| {
        let total: Duration = taken.iter().sum();
        (total.as_nanos() * 1000 * 1_000_000_000 / LOOK.as_nanos()) as u64
    };
    let at_once = taken.iter().flatten().map(|gap| gap.saturating_sub(nearest).as_nanos() as u64 * 1000);
    let times = taken.iter().map(Vec::len).sum::<usize>() as u128 * 1_000_000_000;
    Some(Noise {
        per_second: Spread::of(taken.iter().map(in_a_second))?,
        at_once: Spread::of(at_once),
        times: (times / looked.as_nanos().max(1)) as u64,
    })
}

/// Returns the gaps between readings of the clock in which something else ran.
fn interruptions(nearest: Duration) -> Vec<Duration> {
    let (begun, mut taken) = (Instant::now(), Vec::new());
    let mut last = begun;
    while last.duration_since(begun) < LOOK {
        let now = Instant::now();
        let apart = now.duration_since(last);
        if apart > nearest * GAP {
            taken.push(apart);
        }
        last = now;
    }
    taken
}

/// Returns the interval between two readings of the clock with nothing in between.
fn nearest() -> Duration {
    let mut last = Instant::now();
    let apart = (0..FIRST_LOOKS).map(|_| {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut last, now))
    });
    // A clock may stand still between two readings.
    apart.filter(|apart| !apart.is_zero()).min().unwrap_or(Duration::from_nanos(100))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the noise with gaps of these microseconds in each measurement of 50 ms.
    pub(crate) fn noise(gaps_us: &[u64]) -> Noise {
        let gaps: Vec<Duration> = gaps_us.iter().map(|&us| Duration::from_micros(us)).collect();
        of(&vec![gaps; 4], Duration::from_micros(1)).unwrap()
    }

    #[test]
    fn most_interruptions_are_ticks_if_there_are_as_many() {
        let check = |gaps_us: &[u64], hz, expected: Option<u64>| {
            assert_eq!(noise(gaps_us).tick(hz).map(Spread::median_ns), expected, "{gaps_us:?} at {hz} Hz");
        };
        // 12 in 50 ms are 240 in a second.
        let ticks = [33, 34, 34, 34, 34, 34, 34, 34, 34, 34, 90, 5000];
        check(&ticks, 250, Some(33_000));
        check(&ticks, 100, None);
        check(&ticks, 1000, None);
        check(&[], 250, None);
        check(&[34; 6], 250, None);
    }

    #[test]
    fn time_is_taken_in_each_second() {
        assert_eq!(noise(&[30, 20]).per_second.median_ns(), 1_000_000);
        assert_eq!(noise(&[]).per_second.median_ns(), 0);
    }
}
