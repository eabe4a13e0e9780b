//! Which runs an experiment needs: every arm with every seed.
//!
//! Both arms of a claim run with the same seeds. The many seeds of one arm serve for the A/A spread: the same
//! scheduler against itself. An arm that only shows what disappears when a mechanism is off needs fewer. Identical
//! runs of several experiments are made once.

use crate::model::{Arm, Experiment, Until};
use crate::outcome::{ArmFigures, RunFigures};
use keel_abi::{Noise, Span};
use keel_check::Measure;
use std::collections::BTreeMap;

/// Default number of runs of each arm.
pub const RUNS: u32 = 20;
/// The most runs of an arm that appears in no ratio of its own.
const OFF_RUNS: u32 = 5;

/// One run to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Of which experiment, by its place in the list.
    pub experiment: usize,
    /// Of which arm, by its place in the experiment.
    pub arm: usize,
    /// With which seed.
    pub seed: u64,
}

/// The runs that these experiments need, in the order of the experiments, arms and seeds. A compared arm is run
/// `runs` times; if that is `None`, as often as its experiment says, or [`RUNS`] times.
pub fn plan(experiments: &[Experiment], runs: Option<u32>) -> Vec<Planned> {
    let mut all = Vec::new();
    for (at, experiment) in experiments.iter().enumerate() {
        let runs = runs.or(experiment.runs).unwrap_or(RUNS);
        for arm in 0..experiment.arms.len() {
            let compared = experiment.claims.iter().any(|claim| claim.of == arm || claim.to == Some(arm));
            let runs = if compared { runs } else { runs.min(OFF_RUNS) };
            let seeds = (0..runs).map(|run| experiment.seed.wrapping_add(u64::from(run)));
            all.extend(seeds.map(|seed| Planned { experiment: at, arm, seed }));
        }
    }
    all
}

/// All that a run's figures depend on.
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

/// Which runs must be made, by their places in `planned`; and for each of `planned` which of these it is: the same
/// scheduler, settings, workload, machine, length and seed give the same figures.
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

/// The results of planned runs, sorted into experiments and arms. `results` has one for each of
/// `planned`, in its order.
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
        assert_eq!(planned.len(), 2 * (20 + 20 + 5));
        assert_eq!(planned[0], Planned { experiment: 0, arm: 0, seed: 5 });
        assert_eq!(planned[44], Planned { experiment: 0, arm: 2, seed: 9 });
        assert_eq!(plan(&experiments[..1], Some(3)).len(), 9);
    }

    #[test]
    fn an_experiment_says_how_often_it_is_run_unless_you_do() {
        let few = Experiment { runs: Some(2), ..experiment(CLAIM) };
        assert_eq!(plan(&[few.clone(), experiment(CLAIM)], None).len(), 3 * 2 + 45);
        assert_eq!(plan(&[few], Some(4)).len(), 3 * 4);
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
        // The three arms of the first differ by nothing but their labels.
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
