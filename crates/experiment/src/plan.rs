//! Plans the runs that an experiment needs: every arm with every seed.
//!
//! Both arms of a claim run with the same seeds. The seeds of one arm also give the A/A spread: the same scheduler
//! compared with itself. A few seeds settle most verdicts. [`plan`] returns those, and [`more`] the rest, for arms with
//! a close verdict. An arm that only shows what disappears when a mechanism is off needs only the few. Identical runs
//! of several experiments are made once.

use crate::judge::settled::open_claims;
use crate::model::{Arm, Claim, Experiment, Until};
use crate::outcome::{ArmFigures, RunFigures};
use keel_abi::{Noise, Span};
use keel_check::Measure;
use std::collections::BTreeMap;
use std::ops::Range;

/// The default number of runs of each arm.
pub const FEW_RUNS: u32 = 5;
/// The default number of runs of an arm whose verdict is close.
pub const MOST_RUNS: u32 = 20;
/// The maximum number of runs of an arm that is in no ratio of its own.
const OFF_RUNS: u32 = 5;

/// A run to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The index of its experiment in the list.
    pub experiment: usize,
    /// The index of its arm in the experiment.
    pub arm: usize,
    /// Its seed.
    pub seed: u64,
}

/// Returns the first runs, in the order of the experiments, arms and seeds. A compared arm runs `runs` times. If that
/// is `None`, it runs as often as its experiment specifies, or [`FEW_RUNS`] times.
pub fn plan(experiments: &[Experiment], runs: Option<u32>) -> Vec<Planned> {
    let mut all = Vec::new();
    for (at, experiment) in experiments.iter().enumerate() {
        let runs = runs.or(experiment.runs).unwrap_or(FEW_RUNS);
        for arm in 0..experiment.arms.len() {
            let compared = experiment.claims.iter().any(|claim| compares(claim, arm));
            let runs = if compared { runs } else { runs.min(OFF_RUNS) };
            all.extend(runs_of(experiment, at, arm, 0..runs));
        }
    }
    all
}

/// Returns the runs to be made after those of [`plan`] gave `figures`, if nobody specified their number: those of arms
/// whose verdict is close, up to [`MOST_RUNS`] per arm.
pub fn more(experiments: &[Experiment], figures: &[Vec<ArmFigures>]) -> Vec<Planned> {
    let mut all = Vec::new();
    let by_need = experiments.iter().zip(figures).enumerate().filter(|(_, (one, _))| one.runs.is_none());
    for (at, (experiment, figures)) in by_need {
        let open = open_claims(experiment, figures);
        let arms = (0..experiment.arms.len()).filter(|&arm| open.iter().any(|claim| compares(claim, arm)));
        all.extend(arms.flat_map(|arm| runs_of(experiment, at, arm, FEW_RUNS..MOST_RUNS)));
    }
    all
}

/// Returns whether the arm is one of the two that the claim compares.
fn compares(claim: &Claim, arm: usize) -> bool {
    claim.of == arm || claim.to == Some(arm)
}

/// Returns these runs of an arm, by number. `at` is the experiment's index in the list.
fn runs_of(
    experiment: &Experiment,
    at: usize,
    arm: usize,
    runs: Range<u32>,
) -> impl Iterator<Item = Planned> {
    let first = experiment.seed;
    runs.map(move |run| Planned { experiment: at, arm, seed: first.wrapping_add(u64::from(run)) })
}

/// Everything that determines a run's figures.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'e> {
    scheduler: &'e str,
    version: Option<&'e str>,
    settings: &'e [(String, String)],
    workload: &'e str,
    machine: &'e str,
    to_end: bool,
    longest: Span,
    warm_up: Span,
    noise: Noise,
    seed: u64,
    with_waste: bool,
}

impl<'e> Key<'e> {
    fn of(experiments: &'e [Experiment], run: &Planned) -> Self {
        let experiment = &experiments[run.experiment];
        let Arm { label: _, scheduler, version, settings, workload, machine } = &experiment.arms[run.arm];
        Self {
            scheduler,
            version: version.as_deref(),
            settings,
            workload,
            machine,
            to_end: matches!(experiment.until, Until::End { .. }),
            longest: experiment.until.longest(),
            warm_up: experiment.warm_up,
            noise: experiment.noise,
            seed: run.seed,
            with_waste: experiment.measures(Measure::Wasted),
        }
    }
}

/// Returns which runs must be made, by their index in `planned`, and for each of `planned` its index among these. The
/// same scheduler, settings, workload, machine, length and seed give the same figures.
pub fn once(experiments: &[Experiment], planned: &[Planned]) -> (Vec<usize>, Vec<usize>) {
    let mut made = Vec::new();
    let mut known: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    let mut which = |(at, run): (usize, &Planned)| {
        *known.entry(Key::of(experiments, run)).or_insert_with(|| {
            made.push(at);
            made.len() - 1
        })
    };
    let uses = planned.iter().enumerate().map(&mut which).collect();
    (made, uses)
}

/// Sorts the results of planned runs by experiment and arm. `results` has one for each of `planned`, in the same order.
pub fn gather(
    experiments: &[Experiment],
    planned: &[Planned],
    results: Vec<RunFigures>,
) -> Vec<Vec<ArmFigures>> {
    let empty = |experiment: &Experiment| vec![ArmFigures::default(); experiment.arms.len()];
    let mut gathered: Vec<Vec<ArmFigures>> = experiments.iter().map(empty).collect();
    for (run, result) in planned.iter().zip(results) {
        gathered[run.experiment][run.arm].runs.push(result);
    }
    gathered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn experiment(claims: &str) -> Experiment {
        let head = "id = 'x'\ntitle = 't'\nsource = 's'\nmodelled = 'm'\nmachine = '1'\nworkload = 'w'\n\
                    duration_ms = 1\nseed = 5\n";
        let arm = |label: &str| format!("[[arm]]\nlabel = '{label}'\nscheduler = 's'\n");
        let arms: String = ["old", "new", "off"].map(arm).concat();
        read("x.toml", &format!("{head}{arms}{claims}")).unwrap()
    }

    const CLAIM: &str = "[[claim]]\nsays = 'x'\nmeasure = 'elapsed_s'\nof = 'new'\nto = 'old'\n\
                         published = { ratio = 2 }\nband = 'effect'\noff = { arm = 'off', instead_of = 'new', gone = 'x' }\n";

    #[test]
    fn every_arm_runs_with_every_seed_and_what_is_off_with_fewer() {
        let experiments = [experiment(CLAIM), experiment(CLAIM)];
        let planned = plan(&experiments, None);
        assert_eq!(planned.len(), 2 * (5 + 5 + 5));
        assert_eq!(planned[0], Planned { experiment: 0, arm: 0, seed: 5 });
        assert_eq!(planned[14], Planned { experiment: 0, arm: 2, seed: 9 });
        assert_eq!(plan(&experiments[..1], Some(3)).len(), 9);
        assert_eq!(plan(&experiments[..1], Some(20)).len(), 20 + 20 + 5);
    }

    #[test]
    fn an_experiment_says_how_often_it_is_run_unless_you_do() {
        let few = Experiment { runs: Some(2), ..experiment(CLAIM) };
        assert_eq!(plan(&[few.clone(), experiment(CLAIM)], None).len(), 3 * 2 + 15);
        assert_eq!(plan(&[few], Some(4)).len(), 3 * 4);
    }

    /// Returns five runs of each arm that took about this many seconds each.
    fn figures(seconds: [f64; 3], spread: f64) -> Vec<ArmFigures> {
        let run = |s: f64, seed: u32| {
            let s = s * (1.0 + spread * (f64::from(seed) - 2.0));
            let elapsed = Some(Span::from_ns((s * 1e9) as u64));
            let measured = keel_check::Measured { elapsed, ..Default::default() };
            RunFigures { seed: u64::from(seed), costs: Default::default(), result: Ok(measured) }
        };
        let arm = |s: f64| ArmFigures { runs: (0..FEW_RUNS).map(|seed| run(s, seed)).collect() };
        seconds.map(arm).into()
    }

    #[test]
    fn close_verdicts_get_more_runs_of_what_they_compare() {
        // The arms are old, new, and new without its mechanism. 2 was published, so the band is 1.5 to 3.
        let check = |seconds, spread, runs, expected: &[(usize, u64)]| {
            let experiment = Experiment { runs, ..experiment(CLAIM) };
            let planned = more(&[experiment], &[figures(seconds, spread)]);
            let arms: Vec<_> = planned.iter().map(|run| (run.arm, run.seed)).collect();
            assert_eq!(arms, expected, "{seconds:?} {spread}");
        };
        let all: Vec<_> = [0, 1].iter().flat_map(|&arm| (10..25).map(move |seed| (arm, seed))).collect();
        check([1.0, 2.0, 1.0], 0.001, None, &[]);
        // An A/A of 1.08, squared, leads out of the band, but not from its middle.
        check([1.0, 2.9, 1.0], 0.02, None, &all);
        check([1.0, 2.2, 1.0], 0.02, None, &[]);
        check([1.0, 1.52, 1.0], 0.01, None, &all);
        check([1.0, 1.48, 1.0], 0.01, None, &all);
        // Far outside the band, nothing else counts.
        check([1.0, 1.0, 1.0], 0.02, None, &[]);
        check([1.0, 9.0, 1.0], 0.02, None, &[]);
        // A quarter of the effect may be left: 1.19 of 2.
        check([1.0, 2.0, 1.20], 0.01, None, &all);
        check([1.0, 2.0, 1.18], 0.01, None, &all);
        check([1.0, 2.0, 1.5], 0.01, None, &[]);
        // A file that specifies the number of runs gets that number.
        check([1.0, 1.52, 1.0], 0.01, Some(5), &[]);
    }

    #[test]
    fn what_is_the_same_run_is_made_once() {
        let same = experiment(CLAIM);
        let check = |change: fn(&mut Experiment), expected: usize| {
            let mut other = experiment(CLAIM);
            change(&mut other);
            let experiments = [same.clone(), other];
            let planned = plan(&experiments, Some(2));
            let (made, uses) = once(&experiments, &planned);
            assert_eq!((made.len(), uses.len()), (expected, planned.len()));
            for (run, &used) in planned.iter().zip(&uses) {
                let made = planned[made[used]];
                assert!(Key::of(&experiments, run) == Key::of(&experiments, &made));
            }
        };
        // The three arms of the first one differ only in their labels.
        check(|_| {}, 2);
        check(|other| other.arms[0].label = "another".into(), 2);
        check(|other| other.arms[0].scheduler = "another".into(), 4);
        check(|other| other.arms[0].version = Some("1.0.0".into()), 4);
        check(|other| other.arms[0].settings = vec![("a".into(), "1".into())], 4);
        check(|other| other.arms[0].workload = "another".into(), 4);
        check(|other| other.arms[0].machine = "another".into(), 4);
        check(|other| other.until = Until::After(Span::from_ms(2)), 4);
        check(|other| other.until = Until::End { at_most: Span::from_ms(1) }, 4);
        check(|other| other.warm_up = Span::from_us(1), 4);
        check(|other| other.noise = Noise::Busy, 4);
        check(|other| other.seed = 6, 3);
        check(|other| other.claims[0].measure = Measure::Wasted, 4);
    }

    #[test]
    fn results_go_where_they_belong() {
        let experiments = [experiment(CLAIM), experiment(CLAIM)];
        let planned = plan(&experiments, Some(2));
        let result = |run: &Planned| RunFigures {
            seed: run.seed,
            costs: Default::default(),
            result: Err(format!("{} {}", run.experiment, run.arm)),
        };
        let gathered = gather(&experiments, &planned, planned.iter().map(result).collect());
        for (at, arms) in gathered.iter().enumerate() {
            for (arm, figures) in arms.iter().enumerate() {
                let seeds: Vec<u64> = figures.runs.iter().map(|run| run.seed).collect();
                assert_eq!(seeds, [5, 6]);
                assert!(figures.runs.iter().all(|run| run.result == Err(format!("{at} {arm}"))));
            }
        }
    }
}
