use super::*;
use crate::model::{Arm, Band, Off, Side, Until};
use crate::outcome::RunFigures;
use keel_abi::Span;
use keel_check::{Counts, Measure, Measured};

/// Returns runs with this many switches per second.
fn arm(values: &[u64]) -> ArmFigures {
    let run = |(seed, &switches): (usize, &u64)| RunFigures {
        seed: seed as u64,
        costs: Default::default(),
        result: Ok(Measured { duration: Span::from_s(1), switches, ..Measured::default() }),
    };
    ArmFigures { runs: values.iter().enumerate().map(run).collect() }
}

fn experiment(published: Published, band: Band) -> Experiment {
    let named = |label: &str| Arm {
        label: label.to_owned(),
        scheduler: label.to_owned(),
        version: None,
        settings: Vec::new(),
        workload: "hogs".to_owned(),
        machine: "1".to_owned(),
    };
    Experiment {
        id: "test".to_owned(),
        title: "a test".to_owned(),
        source: "a test".to_owned(),
        story: String::new(),
        trend: None,
        modelled: "nothing".to_owned(),
        until: Until::After(Span::from_s(1)),
        warm_up: Span::ZERO,
        seed: 1,
        runs: None,
        noise: keel_abi::Noise::None,
        arms: ["new", "old", "new-off"].map(named).into(),
        claims: vec![Claim {
            says: "it is faster".to_owned(),
            measure: Measure::SwitchesPerSecond,
            tasks: Vec::new(),
            of: 0,
            to: Some(1),
            less: None,
            published,
            band,
            off: Some(Off { arm: 2, side: Side::Of, gone: "without the mechanism".to_owned() }),
        }],
        tables: Vec::new(),
    }
}

fn samples(of: &[f64], to: &[f64]) -> Published {
    Published::Samples { of: of.into(), to: to.into() }
}

/// Returns the verdict, and the three conditions as `+`, `-` or `?`.
fn reported(judged: &Judged) -> (Standing, String) {
    let holds = judged.claims[0].holds;
    let mark = |holds: Option<bool>| match holds {
        Some(true) => '+',
        Some(false) => '-',
        None => '?',
    };
    (judged.standing, [holds.direction, holds.band, holds.mechanism].map(mark).iter().collect())
}

#[test]
fn each_condition_decides() {
    use Standing::{NotReached, Reproduced, Undecidable};
    let ratio = Published::Ratio;
    let check = |published: Published,
                 band,
                 of: &[u64],
                 to: &[u64],
                 off: &[u64],
                 expected: (Standing, &str)| {
        let judged = judge(&experiment(published.clone(), band), &[arm(of), arm(to), arm(off)]);
        let (standing, holds) = reported(&judged);
        assert_eq!((standing, holds.as_str()), expected, "{published:?} {of:?} {to:?} {off:?}: {judged:?}");
    };
    let effect = Band::Effect;
    check(ratio(4.0), effect, &[400, 420], &[100], &[100], (Reproduced, "+++"));
    check(ratio(4.0), effect, &[250], &[100], &[120], (Reproduced, "+++"));
    // Half of the effect is 2.5, and twice the effect is 7.
    check(ratio(4.0), effect, &[249], &[100], &[100], (NotReached, "+-+"));
    check(ratio(4.0), effect, &[700], &[100], &[100], (Reproduced, "+++"));
    check(ratio(4.0), effect, &[701], &[100], &[100], (NotReached, "+-+"));
    // The same scheduler differs from itself by a factor of 5 or more. Either arm's spread counts.
    check(ratio(4.0), effect, &[100, 700], &[100], &[100], (NotReached, "-+?"));
    check(ratio(4.0), effect, &[400], &[50, 250], &[100], (NotReached, "-+?"));
    check(ratio(4.0), effect, &[50], &[100], &[100], (NotReached, "--?"));
    // A quarter of the effect in logarithms: the fourth root of 4 is 1.414.
    check(ratio(4.0), effect, &[400], &[100], &[141], (Reproduced, "+++"));
    check(ratio(4.0), effect, &[400], &[100], &[142], (NotReached, "++-"));
    check(ratio(4.0), effect, &[400], &[100], &[20], (Reproduced, "+++"));
    // A case where less is better.
    check(ratio(0.5), effect, &[50], &[100], &[100], (Reproduced, "+++"));
    check(ratio(0.5), effect, &[50], &[100], &[70], (NotReached, "++-"));
    check(ratio(0.5), effect, &[110], &[100], &[100], (NotReached, "--?"));
    check(ratio(0.5), effect, &[40, 100], &[100], &[100], (NotReached, "-+?"));
    check(ratio(1.02), Band::Range(1.0, 1.05), &[104], &[100], &[100], (Reproduced, "+++"));
    check(ratio(1.02), Band::Range(1.0, 1.05), &[100], &[100], &[100], (NotReached, "-+?"));
    check(ratio(1.0), Band::Within(0.1), &[100], &[100], &[100], (Reproduced, "+++"));
    // No difference, except as much as the runs of one arm differ.
    check(ratio(0.98), Band::Same, &[100, 104], &[101], &[101], (Reproduced, "+++"));
    check(ratio(0.98), Band::Same, &[100, 104], &[110], &[110], (NotReached, "+-+"));
    check(ratio(0.98), Band::Same, &[101], &[101], &[101], (Reproduced, "+++"));
    // Overlapping samples decide nothing.
    check(samples(&[3.0, 5.0], &[1.0]), effect, &[400], &[100], &[100], (Reproduced, "+++"));
    check(samples(&[3.0, 5.0], &[1.0, 3.0]), effect, &[200], &[100], &[100], (Undecidable, "+++"));
    check(samples(&[3.0, 5.0], &[1.0, 3.0]), effect, &[100], &[100], &[100], (Undecidable, "--?"));
}

#[test]
fn the_off_arm_stands_for_either_side() {
    let mut old = experiment(Published::Ratio(4.0), Band::Effect);
    let off = |experiment: &Experiment| {
        judge(experiment, &[arm(&[400]), arm(&[100]), arm(&[200])]).claims[0].off.unwrap()
    };
    assert_eq!(off(&old), 2.0);
    old.claims[0].off.as_mut().unwrap().side = Side::To;
    assert_eq!(off(&old), 2.0);
    let judged = judge(&old, &[arm(&[400]), arm(&[100]), arm(&[390])]);
    assert!(judged.claims[0].holds.mechanism.unwrap(), "{judged:?}");
    assert!(judged.claims[0].off.unwrap() < 1.03);
}

#[test]
fn what_was_not_measured_is_not_reached() {
    let failed = ArmFigures {
        runs: vec![RunFigures { seed: 7, costs: Default::default(), result: Err("it stalled".to_owned()) }],
    };
    let all = experiment(Published::Ratio(4.0), Band::Effect);
    let check = |arms: [&ArmFigures; 3], expected: &str| {
        let judged = judge(&all, &arms.map(Clone::clone));
        assert_eq!((judged.standing, judged.why.as_str()), (Standing::NotReached, expected));
    };
    let good = arm(&[400]);
    check([&failed, &good, &good], "new, seed 7: it stalled");
    check([&good, &failed, &good], "old, seed 7: it stalled");
    check([&good, &good, &failed], "new-off, seed 7: it stalled");
    check([&good, &ArmFigures::default(), &good], "old was not run");
    let mut elapsed = all.clone();
    elapsed.claims[0].measure = Measure::Elapsed;
    let judged = judge(&elapsed, &[good.clone(), good.clone(), good]);
    assert_eq!(judged.why, "new, seed 0: the workload did not finish");
}

#[test]
fn the_reason_is_measured() {
    let check = |published: Published, of: u64, off: u64, expected: &str| {
        let judged = judge(&experiment(published, Band::Effect), &[arm(&[of]), arm(&[100]), arm(&[off])]);
        assert_eq!(judged.why, expected);
    };
    let overlap = samples(&[3.0, 5.0], &[1.0, 3.0]);
    check(
        samples(&[200.0], &[50.0]),
        400,
        100,
        "in the band of 2.50 to 7.00; gone without the mechanism (1.00)",
    );
    check(
        samples(&[200.0], &[50.0]),
        200,
        200,
        "below the band of 2.50 to 7.00; still 2.00 without the mechanism; \
         new has 1.00 times its published figure, and old has 2.00 times",
    );
    check(
        overlap,
        50,
        100,
        "the published samples overlap; 0.500 is on the other side of 1; below the band of 1.50 to 3.00; \
         new has 12.5 times its published figure, and old has 50.0 times",
    );
}

#[test]
fn a_value_of_one_arm_calibrates() {
    let mut one = experiment(samples(&[90.0, 110.0], &[]), Band::Within(0.25));
    (one.claims[0].to, one.claims[0].off) = (None, None);
    let check = |one: &Experiment, values: &[u64], expected: Standing, why: &str| {
        let judged = judge(one, &[arm(values), ArmFigures::default(), ArmFigures::default()]);
        assert_eq!((judged.standing, judged.why.as_str()), (expected, why));
        assert_eq!(reported(&judged).1.get(..1), Some("?"));
    };
    let calibrated = "1.10 times the published value, in the band of 75.0 to 125 a second";
    check(&one, &[100, 120], Standing::Calibrated, calibrated);
    one.claims[0].less = Some(1);
    let judged = judge(&one, &[arm(&[150]), arm(&[40, 60]), ArmFigures::default()]);
    assert_eq!(judged.claims[0].ours, Some(100.0));
    one.claims[0].less = None;
    let off = "1.50 times the published value, outside the band of 75.0 to 125 a second";
    check(&one, &[150], Standing::NotReached, off);
}

#[test]
fn overhead_is_taken_off_both_sides_of_a_ratio() {
    let mut one = experiment(Published::Ratio(2.0), Band::Effect);
    (one.claims[0].less, one.claims[0].off) = (Some(2), None);
    let check = |overhead: &[u64], ours: Option<f64>, why: &str| {
        let judged = judge(&one, &[arm(&[300]), arm(&[200]), arm(overhead)]);
        assert_eq!(judged.claims[0].ours, ours);
        assert!(judged.why.contains(why), "{}", judged.why);
    };
    check(&[50, 150], Some(2.0), "");
    check(&[200], None, "old: a run takes no longer than what is taken off");
}

#[test]
fn one_claim_that_fails_fails_the_experiment() {
    let mut two = experiment(Published::Ratio(4.0), Band::Effect);
    let mut second = two.claims[0].clone();
    second.says = "and no slower elsewhere".to_owned();
    second.published = Published::Ratio(0.5);
    two.claims.push(second);
    let judged = judge(&two, &[arm(&[400]), arm(&[100]), arm(&[100])]);
    assert_eq!(judged.claims[0].standing, Standing::Reproduced);
    assert_eq!(judged.standing, Standing::NotReached);
    assert!(
        judged.why.starts_with("and no slower elsewhere: 4.00 is on the other side of 1"),
        "{}",
        judged.why
    );
}

/// Returns runs in which tasks `a`, `b` and `c` migrated this many times.
fn moved(runs: &[[u64; 3]]) -> ArmFigures {
    let task =
        |(name, migrations): (&str, u64)| Counts { name: name.to_owned(), migrations, ..Counts::default() };
    let run = |counts: &[u64; 3]| RunFigures {
        seed: 1,
        costs: Default::default(),
        result: Ok(Measured {
            tasks: ["a", "b", "c"].into_iter().zip(*counts).map(task).collect(),
            ..Measured::default()
        }),
    };
    ArmFigures { runs: runs.iter().map(run).collect() }
}

#[test]
fn tasks_are_judged_together_or_by_their_order() {
    let check = |tasks: &[&str],
                 band: Band,
                 published: Published,
                 to: Option<usize>,
                 expected: (Standing, Option<f64>)| {
        let mut experiment = experiment(published, band);
        let claim = &mut experiment.claims[0];
        claim.tasks = tasks.iter().map(|&name| name.to_owned()).collect();
        (claim.measure, claim.to, claim.off) = (Measure::Migrated, to, None);
        let arms =
            [moved(&[[100, 40, 2], [100, 60, 2]]), moved(&[[400, 100, 200]; 2]), ArmFigures::default()];
        let judged = judge(&experiment, &arms);
        assert_eq!((judged.standing, judged.claims[0].ours), expected, "{tasks:?} {band:?}: {}", judged.why);
    };
    let of = |of: &[f64]| samples(of, &[]);
    use Standing::{Calibrated, NotReached, Reproduced};
    check(&["b", "c"], Band::Factor(2.0), samples(&[1.0], &[5.0]), Some(1), (Reproduced, Some(52.0 / 300.0)));
    check(&["b", "c"], Band::Factor(1.1), samples(&[1.0], &[5.0]), Some(1), (NotReached, Some(52.0 / 300.0)));
    check(&[], Band::Within(0.25), of(&[160.0]), None, (Calibrated, Some(152.0)));
    check(&["c"], Band::Factor(3.0), of(&[1.0]), None, (Calibrated, Some(2.0)));
    check(&["d"], Band::Factor(3.0), of(&[1.0]), None, (NotReached, None));
    check(&["a", "b", "c"], Band::Order, of(&[900.0, 300.0, 1.0]), None, (Reproduced, Some(1.0)));
    check(&["a", "b", "c"], Band::Order, of(&[300.0, 900.0, 1.0]), None, (NotReached, Some(1.0 - 1.0 / 3.0)));
    check(&["a", "b", "c"], Band::Order, of(&[290.0, 300.0, 1.0]), None, (Reproduced, Some(1.0)));
}

#[test]
fn a_trend_needs_cells_in_the_published_order() {
    let judged = |least: f64, ratios: &[(f64, f64)]| {
        let mut experiment = experiment(Published::Ratio(1.0), Band::Range(0.01, 100.0));
        experiment.trend = Some(least);
        let claim = Claim { off: None, ..experiment.claims[0].clone() };
        let named = experiment.arms[0].clone();
        experiment.arms = vec![named; ratios.len() + 1];
        let with = |(of, &(published, _)): (usize, &(f64, f64))| {
            let published = Published::Ratio(published);
            Claim { of, to: Some(ratios.len()), published, ..claim.clone() }
        };
        experiment.claims = ratios.iter().enumerate().map(with).collect();
        let values = ratios.iter().map(|pair| pair.1).chain([1.0]);
        let arms: Vec<ArmFigures> = values.map(|value| arm(&[(value * 100.0) as u64])).collect();
        let judged = judge(&experiment, &arms);
        (judged.standing, judged.trend.and_then(|trend| trend.rank_correlation))
    };
    let rising = [(2.0, 1.5), (3.0, 2.5), (4.0, 9.0)];
    assert_eq!(judged(0.9, &rising), (Standing::Reproduced, Some(1.0)));
    let mixed = [(2.0, 2.5), (3.0, 1.5), (4.0, 9.0)];
    assert_eq!(judged(0.5, &mixed), (Standing::Reproduced, Some(0.5)));
    assert_eq!(judged(0.6, &mixed), (Standing::NotReached, Some(0.5)));
}
