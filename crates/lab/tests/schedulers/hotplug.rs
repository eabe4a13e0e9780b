//! CPUs that go on- and offline under load: no task is lost or starves, and no core is wasted for longer than without
//! hotplug.

use crate::harness::{repeat, run_up_to, set, sleep};
use crate::scene::{Scene, Seen, hog, under};
use keel_abi::Span;
use keel_abi::timeline::{Change, Happening};

/// How long a run is.
const MS: u64 = 1500;

/// Each half of the CPUs, except the first CPU, goes offline for 40 ms, one half after the other, repeatedly.
fn halves(cpus: u32) -> Vec<Happening> {
    let halves =
        [(1..cpus).filter(|c| c % 2 == 1).collect::<Vec<_>>(), (1..cpus).filter(|c| c % 2 == 0).collect()];
    let period = Some(Span::from_ms(200));
    let again =
        |ms, change| Happening { at: Span::from_ms(ms), every: period, times: None, follows: false, change };
    let pair = |(number, half): (u64, Vec<u32>)| {
        let cpus = set(half);
        [
            again(50 + 100 * number, Change::Offline(cpus.clone())),
            again(90 + 100 * number, Change::Online(cpus)),
        ]
    };
    (0..).zip(halves).filter(|(_, half)| !half.is_empty()).flat_map(pair).collect()
}

fn loaded(scheduler: &str, cpus: u32) -> Scene {
    let wakes = repeat("w", [run_up_to(800), sleep(1500)]).instances(cpus);
    under(scheduler).cpus(cpus).task(hog("h").instances(cpus)).task(wakes).millis(MS)
}

/// The last instant at which any task with a name got or had a CPU, in milliseconds.
fn last_seen_ms(seen: &Seen, name: &str) -> u64 {
    seen.ids(name).into_iter().map(|task| seen.last_run(task).as_ns() / 1_000_000).min().expect("they ran")
}

fn check(scheduler: &str) {
    check_within(scheduler, Span::from_ms(1));
}

/// No core is wasted for longer than this, or than without hotplug.
fn check_within(scheduler: &str, waste: Span) {
    for cpus in [2, 8, 64] {
        let (still, moving) =
            (loaded(scheduler, cpus).run(), loaded(scheduler, cpus).timeline(halves(cpus)).run());
        moving.assert_nobody_starves();
        let tasks = |seen: &Seen| (seen.ids("h").len(), seen.ids("w").len());
        assert_eq!(tasks(&moving), (cpus as usize, cpus as usize));
        for name in ["h", "w"] {
            let last = last_seen_ms(&moving, name);
            assert!(last > MS - 400, "{scheduler}, {cpus} CPUs: some {name} ran last at {last} ms");
        }
        let (with, without) = (moving.longest_waste(), still.longest_waste());
        assert!(with <= without.max(waste), "{scheduler}, {cpus} CPUs: {with:?} and {without:?}");
        // 40 of 200 ms without one half, and as much without the other.
        let there = 1.0 - 0.2 * f64::from(cpus - 1) / f64::from(cpus);
        let (busy, before) = (moving.judgement.summary.busy_share, still.judgement.summary.busy_share);
        assert!(busy > before - 0.02, "{cpus} CPUs: {busy} of what is there ({there}), {before} without");
    }
}

#[test]
fn bsd_loses_no_task() {
    check("bsd");
}

#[test]
fn cfs_loses_no_task() {
    // The interval of the smallest domain with more than one core, and a tick.
    check_within("cfs", Span::from_ms(20));
}

#[test]
fn goodness_loses_no_task() {
    check("goodness");
}

#[test]
fn o1_loses_no_task() {
    check("o1");
}

#[test]
fn ule_loses_no_task() {
    check("ule");
}

#[test]
fn mq_loses_no_task() {
    check("mq");
}
