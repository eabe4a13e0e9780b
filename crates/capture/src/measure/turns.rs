//! Do CPUs execute at once, or by turns on one thread of an emulator?
//!
//! A thread on each of two CPUs looks at the clock all the time. On hardware both see time pass evenly, except for
//! interrupts. If CPUs take turns, each sees a gap while the other has its turn, and both never advance together.

use super::pinned::pin;
use super::spread::Spread;
use keel_abi::CpuId;
use std::sync::Barrier;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(60);
/// Two looks that are further apart have something else between them than an interrupt.
const GAP: Duration = Duration::from_micros(20);
/// The most gaps that are kept.
const MOST: usize = 4096;

/// A time without a look, in ns since the origin.
type Gap = (u64, u64);

/// What one thread saw, in ns since the origin.
#[derive(Clone, Debug, Default)]
struct Seen {
    from: u64,
    until: u64,
    gaps: Vec<Gap>,
}

/// How long a turn of `a` and `b` takes; `None` where they execute at once.
pub(super) fn turn(a: CpuId, b: CpuId) -> Option<Spread> {
    // Neither begins while the other is still being made, for which there may be no other CPU.
    let (origin, meeting) = (Instant::now(), Barrier::new(2));
    let (of_a, of_b) = std::thread::scope(|scope| {
        let meeting = &meeting;
        let [of_a, of_b] = [a, b].map(|cpu| scope.spawn(move || look(cpu, origin, meeting)));
        (of_a.join().ok().flatten(), of_b.join().ok().flatten())
    });
    let (of_a, of_b) = (of_a?, of_b?);
    take_turns(&of_a, &of_b).then(|| lengths(&of_a.gaps, &of_b.gaps)).flatten()
}

fn look(cpu: CpuId, origin: Instant, meeting: &Barrier) -> Option<Seen> {
    let pinned = pin(cpu);
    meeting.wait();
    pinned?;
    let begun = Instant::now();
    let since = |at: Instant| at.duration_since(origin).as_nanos() as u64;
    let (mut gaps, mut last) = (Vec::new(), begun);
    while last.duration_since(begun) < LOOK && gaps.len() < MOST {
        let now = Instant::now();
        if now.duration_since(last) > GAP {
            gaps.push((since(last), since(now)));
        }
        last = now;
    }
    Some(Seen { from: since(begun), until: since(last), gaps })
}

/// Did one of them always stand still, and each for a fair part of the time?
fn take_turns(a: &Seen, b: &Seen) -> bool {
    let (from, until) = (a.from.max(b.from), a.until.min(b.until));
    let (all_ns, longest_ns) = (until.saturating_sub(from), (a.until - a.from).max(b.until - b.from));
    let within = |&(start, end): &Gap| end.min(until).saturating_sub(start.max(from));
    let stood = |seen: &Seen| seen.gaps.iter().map(within).sum::<u64>();
    let (of_a, of_b) = (stood(a), stood(b));
    let is_fair = |ns: u64| ns * 4 > all_ns && ns * 4 < all_ns * 3;
    // Gaps of both at once: neither went on, as in a container that is held back.
    let both = overlap(&a.gaps, &b.gaps, from, until);
    let either = of_a + of_b - both;
    let is_long = all_ns * 2 > longest_ns;
    is_long && is_fair(of_a) && is_fair(of_b) && either * 10 > all_ns * 9 && both * 10 < all_ns
}

fn overlap(a: &[Gap], b: &[Gap], from: u64, until: u64) -> u64 {
    let common = |x: &Gap, y: &Gap| x.1.min(y.1).min(until).saturating_sub(x.0.max(y.0).max(from));
    let (mut sum, mut first) = (0, 0);
    for gap in a {
        while b.get(first).is_some_and(|other| other.1 <= gap.0) {
            first += 1;
        }
        sum += b[first..]
            .iter()
            .take_while(|other| other.0 < gap.1)
            .map(|other| common(gap, other))
            .sum::<u64>();
    }
    sum
}

fn lengths(a: &[Gap], b: &[Gap]) -> Option<Spread> {
    Spread::of(a.iter().chain(b).map(|(start, end)| (end - start) * 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gaps_that_alternate_are_turns() {
        let check = |a: &[Gap], b: &[Gap], expected: bool| {
            let seen = |gaps: &[Gap]| Seen { from: 0, until: 1000, gaps: gaps.to_vec() };
            assert_eq!(take_turns(&seen(a), &seen(b)), expected, "{a:?} {b:?}");
        };
        let turns = |from: u64| (0..10).map(|n| (n * 100 + from, n * 100 + from + 50)).collect::<Vec<Gap>>();
        check(&turns(0), &turns(50), true);
        // The other begins and ends later.
        let later = Seen { from: 210, until: 1210, gaps: turns(50)[2..].to_vec() };
        assert!(take_turns(&Seen { from: 0, until: 1000, gaps: turns(0) }, &later));
        let too_late = Seen { from: 700, until: 1700, gaps: turns(50)[7..].to_vec() };
        assert!(!take_turns(&Seen { from: 0, until: 1000, gaps: turns(0) }, &too_late));
        // Both stand still at once.
        check(&turns(0), &turns(0), false);
        // An interrupt now and then.
        check(&[(100, 130)], &[(600, 640)], false);
        check(&[], &[], false);
        // One of them is always held back.
        check(&[(0, 950)], &[(950, 1000)], false);
    }
}
