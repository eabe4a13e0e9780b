use super::*;
use crate::baseline::Overhead;
use crate::baseline::tests::run;
use proptest::prelude::*;

/// Returns runs with three seeds, each of which changes every figure a little.
fn runs() -> Vec<PastRun> {
    [990, 1000, 1010].map(|part| scaled(&run("a", part), part as f64 / 1000.0)).into()
}

/// Multiplies every figure except throughput.
fn scaled(run: &PastRun, by: f64) -> PastRun {
    let times = |n: u64| (n as f64 * by).round() as u64;
    let mut run = run.clone();
    (run.switches, run.migrations, run.preemptions) =
        (times(run.switches), times(run.migrations), times(run.preemptions));
    for delay in
        run.names.iter_mut().map(|named| &mut named.wakeup_delay_ns).chain([&mut run.wakeup_delay_ns])
    {
        (delay.p50, delay.p99) = (times(delay.p50), times(delay.p99));
    }
    run.wasted_share *= by;
    let cost = &mut run.overhead;
    (cost.callback_ns, cost.lock_wait_ns) = (times(cost.callback_ns), times(cost.lock_wait_ns));
    cost.instructions = times(cost.instructions);
    run
}

fn compared(then: &[PastRun], now: &[PastRun], limits: &[&str]) -> Regression {
    let mut of = Limits::default();
    limits.iter().for_each(|limit| of.set_pair(limit).unwrap());
    Regression::new(&then.iter().collect::<Vec<_>>(), now, &of)
}

fn regressed(found: &Regression) -> Vec<&str> {
    found.regressed().map(|row| row.figure.as_str()).collect()
}

#[test]
fn each_figure_fails_where_it_alone_is_worse() {
    let check = |change: fn(&mut PastRun), expected: &str| {
        let then = runs();
        let mut now = runs();
        now.iter_mut().for_each(change);
        let found = compared(&then, &now, &[]);
        assert_eq!((regressed(&found), found.passed), (vec![expected], false));
        assert!(compared(&now, &then, &[]).passed, "{expected}: better never fails");
        let limit = format!("{}=any", expected.split(' ').next().unwrap_or_default());
        assert!(compared(&then, &now, &[&limit]).passed, "{limit}");
        assert!(
            compared(&then, &now, &[&limit.replace("any", "10000%")]).passed || then[0].bad_accesses == 0
        );
    };
    check(|run| run.wakeup_delay_ns.p50 *= 2, "wakeup_delay_p50");
    check(|run| run.wakeup_delay_ns.p99 *= 2, "wakeup_delay_p99");
    check(|run| run.switches = run.switches * 11 / 10, "switches");
    check(|run| run.migrations = run.migrations * 11 / 10, "migrations");
    check(|run| run.preemptions *= 3, "preemptions");
    check(|run| run.wasted_share *= 2.0, "wasted_share");
    check(|run| run.overhead.callback_ns = run.overhead.callback_ns * 12 / 10, "callback_time");
    check(|run| run.overhead.instructions *= 2, "instructions");
    check(|run| run.overhead.lock_wait_ns *= 9, "lock_wait");
    check(|run| run.bad_accesses = 1, "bad_accesses");
    check(|run| _ = run.findings_total.insert("stall".into(), 1), "findings of stall");
}

#[test]
fn more_work_is_not_blamed_for_the_switches_it_takes() {
    let double = |run: &PastRun| {
        let scaled = scaled(run, 2.0);
        PastRun {
            throughput_total: run.throughput_total * 2,
            wakeup_delay_ns: run.wakeup_delay_ns,
            wasted_share: run.wasted_share,
            names: run.names.clone(),
            ..scaled
        }
    };
    let then = runs();
    let now: Vec<PastRun> = then.iter().map(double).collect();
    let found = compared(&then, &now, &[]);
    assert!(found.passed, "{:?}", regressed(&found));
    assert!(found.figures.iter().any(|row| row.figure == "throughput" && row.verdict == Change::Improved));
    assert_eq!(regressed(&compared(&now, &then, &[])), ["throughput"]);
}

#[test]
fn noise_is_no_regression_and_a_clear_change_is_one() {
    let spread = |by: [f64; 3]| by.map(|by| scaled(&run("a", 1), by)).to_vec();
    // Ten percent worse in the mean, if seeds have the same effect.
    assert!(compared(&spread([0.9, 1.0, 1.1]), &spread([1.0, 1.1, 1.2]), &[]).passed);
    // The same if they have no such effect.
    let found = compared(&spread([0.999, 1.0, 1.001]), &spread([1.099, 1.1, 1.101]), &[]);
    assert!(regressed(&found).contains(&"switches"), "{found:?}");
    assert!(compared(&spread([0.999, 1.0, 1.001]), &spread([1.099, 1.1, 1.101]), &["11%"]).passed);
    // One run each: the effect of seeds is unknown.
    let found = compared(&[run("a", 1)], &[scaled(&run("a", 1), 1.06)], &[]);
    assert!(!found.passed && found.is_single());
}

#[test]
fn work_that_is_not_counted_is_compared_by_the_second() {
    let without = |run: &PastRun| PastRun { throughput_total: 0, ..run.clone() };
    let then: Vec<PastRun> = runs().iter().map(without).collect();
    let now: Vec<PastRun> = then.iter().map(|run| scaled(run, 1.2)).collect();
    let found = compared(&then, &now, &[]);
    assert!(found.figures.iter().all(|row| row.figure != "throughput" && row.per != Some("unit")));
    assert!(regressed(&found).contains(&"switches"));
    // Work that is no longer done at all.
    assert!(regressed(&compared(&runs(), &then, &[])).contains(&"throughput"));
}

/// Whatever a file claims, figures are numbers.
#[test]
fn absurd_runs_are_compared_all_the_same() {
    let absurd = |n: u64| PastRun {
        duration_ns: n,
        throughput_total: n,
        switches: u64::MAX,
        cpus: n as u32,
        wasted_share: n as f64,
        overhead: Overhead { callback_ns: u64::MAX, lock_wait_ns: n, instructions: n },
        ..run("a", 1)
    };
    for (then, now) in [(0, 0), (0, u64::MAX), (u64::MAX, 0), (1, u64::MAX)] {
        let found = compared(&[absurd(then), absurd(then)], &[absurd(now)], &[]);
        assert!(found.figures.iter().all(|row| row.now.is_finite() && row.baseline.is_finite()), "{found:?}");
    }
}

proptest! {
    /// Equal runs never fail, and what fails still fails if it gets even worse.
    #[test]
    fn nothing_is_worse_than_itself(parts in proptest::collection::vec(0.01_f64..100.0, 1..6), by in 1.0_f64..3.0) {
        let then: Vec<PastRun> = parts.iter().map(|&part| scaled(&run("a", 1), part)).collect();
        prop_assert!(compared(&then, &then, &["0%"]).passed);
        let worse = |by: f64| then.iter().map(|run| PastRun { bad_accesses: (by * 100.0) as u64, ..run.clone() }).collect::<Vec<_>>();
        let (some, more) = (compared(&then, &worse(by), &[]), compared(&then, &worse(by * 2.0), &[]));
        prop_assert!(!some.passed && !more.passed);
    }
}
