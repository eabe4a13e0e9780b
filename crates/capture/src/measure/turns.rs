//! Detects whether CPUs execute at the same time, or take turns on one thread of an emulator.
//!
//! A thread on each of two CPUs reads the clock all the time. On hardware, both see time pass evenly, except for
//! interrupts. If CPUs take turns, each sees a gap while another has its turn, and the two never advance together. Both
//! see the same gap while a third CPU has its turn. An emulator's turns are all equally long. On a busy machine, two
//! threads may also happen to alternate, but not so evenly.

use super::pinned::pin;
use super::spread::Spread;
use keel_abi::CpuId;
use std::sync::Barrier;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(60);
/// Two readings that are further apart have more than an interrupt between them.
const GAP: Duration = Duration::from_micros(20);
/// The maximum number of gaps that are kept.
const MOST: usize = 4096;
/// The number of tries: while other CPUs are busy, two that take turns may not get enough turns.
const TRIES: u32 = 5;

/// A time without a reading, in nanoseconds since the origin.
type Gap = (u64, u64);

/// The observations of one thread, in nanoseconds since the origin.
#[derive(Clone, Debug, Default)]
struct Seen {
    from: u64,
    until: u64,
    gaps: Vec<Gap>,
    /// How often the thread read the clock.
    looks: u64,
}

/// Returns how long a turn of `a` and `b` takes, or `None` if they execute at the same time.
pub(super) fn turn(a: CpuId, b: CpuId) -> Option<Spread> {
    (0..TRIES).find_map(|_| turn_seen(a, b))
}

fn turn_seen(a: CpuId, b: CpuId) -> Option<Spread> {
    // Neither begins while the other is still being created: there may be no other CPU for that.
    let (origin, meeting) = (Instant::now(), Barrier::new(2));
    let (of_a, of_b) = std::thread::scope(|scope| {
        let meeting = &meeting;
        let [of_a, of_b] = [a, b].map(|cpu| scope.spawn(move || look(cpu, origin, meeting)));
        (of_a.join().ok().flatten(), of_b.join().ok().flatten())
    });
    let (of_a, of_b) = (of_a?, of_b?);
    let turns = lengths(&of_a, &of_b)?;
    (take_turns(&of_a, &of_b) && turns.is_regular()).then_some(turns)
}

fn look(cpu: CpuId, origin: Instant, meeting: &Barrier) -> Option<Seen> {
    let pinned = pin(cpu);
    meeting.wait();
    pinned?;
    let begun = Instant::now();
    let since = |at: Instant| at.duration_since(origin).as_nanos() as u64;
    let (mut gaps, mut last, mut looks) = (Vec::new(), begun, 0);
    while last.duration_since(begun) < LOOK && gaps.len() < MOST {
        let now = Instant::now();
        if now.duration_since(last) > GAP {
            gaps.push((since(last), since(now)));
        }
        last = now;
        looks += 1;
    }
    Some(Seen { from: since(begun), until: since(last), gaps, looks })
}

/// Returns whether each stood still while the other advanced, and each got a fair part of that time.
fn take_turns(a: &Seen, b: &Seen) -> bool {
    let (from, until) = (a.from.max(b.from), a.until.min(b.until));
    let (all_ns, longest_ns) = (until.saturating_sub(from), (a.until - a.from).max(b.until - b.from));
    let within = |&(start, end): &Gap| end.min(until).saturating_sub(start.max(from));
    let went_on = |seen: &Seen| all_ns.saturating_sub(seen.gaps.iter().map(within).sum());
    let (of_a, of_b) = (went_on(a), went_on(b));
    // Neither advances while a third CPU has its turn, nor in a container that is throttled.
    let either_ns = all_ns.saturating_sub(overlap(&a.gaps, &b.gaps, from, until));
    let both_ns = (of_a + of_b).saturating_sub(either_ns);
    let is_fair = |ns: u64| ns * 4 > either_ns && ns * 4 < either_ns * 3;
    let is_long = all_ns * 2 > longest_ns && either_ns * 16 > all_ns;
    is_long && is_fair(of_a) && is_fair(of_b) && both_ns * 10 < either_ns
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

/// Returns how long they advance between two gaps: one turn, however many CPUs have theirs in between.
fn lengths(a: &Seen, b: &Seen) -> Option<Spread> {
    Spread::of([a, b].into_iter().flat_map(|seen| {
        let stood_ns: u64 = seen.gaps.iter().map(|(start, end)| end - start).sum();
        let went_on_ns = (seen.until - seen.from).saturating_sub(stood_ns);
        // A turn begins up to one reading before the first one in it, and ends up to one reading after the last.
        let look_ns = went_on_ns / seen.looks.max(1);
        seen.gaps.windows(2).map(move |pair| (pair[1].0 - pair[0].1 + look_ns) * 1000)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gaps_that_alternate_are_turns() {
        let seen = |gaps: &[Gap]| Seen { from: 0, until: 1000, gaps: gaps.to_vec(), looks: 50 };
        let check = |a: &[Gap], b: &[Gap], expected: bool| {
            assert_eq!(take_turns(&seen(a), &seen(b)), expected, "{a:?} {b:?}");
        };
        let turns = |from: u64| (0..10).map(|n| (n * 100 + from, n * 100 + from + 50)).collect::<Vec<Gap>>();
        check(&turns(0), &turns(50), true);
        // The same with one or two other CPUs in between.
        let of = |cpus: u64, nth: u64| {
            let turn = move |n: u64| (n * cpus + nth + 1) * 20;
            (0..30)
                .map(|n| (turn(n), turn(n) + (cpus - 1) * 20))
                .filter(|gap| gap.1 <= 1000)
                .collect::<Vec<Gap>>()
        };
        check(&of(3, 0), &of(3, 1), true);
        check(&of(4, 0), &of(4, 2), true);
        // 250 ns in 50 readings.
        let length = |a: &[Gap], b: &[Gap]| lengths(&seen(a), &seen(b)).map(|turn| turn.median_ps());
        assert_eq!(length(&of(4, 0), &of(4, 2)), Some(25_000));
        // The other begins and ends later.
        let later = Seen { from: 210, until: 1210, gaps: turns(50)[2..].to_vec(), looks: 50 };
        assert!(take_turns(&seen(&turns(0)), &later));
        let too_late = Seen { from: 700, until: 1700, gaps: turns(50)[7..].to_vec(), looks: 50 };
        assert!(!take_turns(&seen(&turns(0)), &too_late));
        // Both stand still at once.
        check(&turns(0), &turns(0), false);
        let rarely = |from: u64| (0..3).map(|n| (n * 333 + from, n * 333 + from + 300)).collect::<Vec<Gap>>();
        check(&rarely(0), &rarely(10), false);
        // An occasional interrupt.
        check(&[(100, 130)], &[(600, 640)], false);
        check(&[], &[], false);
        // One of them is always throttled.
        check(&[(0, 950)], &[(950, 1000)], false);
    }
}
