//! Which runs an experiment needs: every arm with every seed.
//!
//! Both arms of a claim run with the same seeds. The many seeds of one arm serve for the A/A
//! spread: the same scheduler against itself. An arm that only shows what is gone when a mechanism
//! is off needs fewer.

use crate::model::Experiment;
use crate::outcome::{ArmFigures, RunFigures};

/// Runs of each arm where nothing else is asked for.
pub const RUNS: u32 = 20;
/// The most runs of an arm that stands in no ratio of its own.
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

/// The runs that these experiments need, `runs` a compared arm, in the order of the experiments,
/// arms and seeds.
pub fn plan(experiments: &[Experiment], runs: u32) -> Vec<Planned> {
    let mut all = Vec::new();
    for (at, experiment) in experiments.iter().enumerate() {
        for arm in 0..experiment.arms.len() {
            let compared = experiment.claims.iter().any(|claim| claim.of == arm || claim.to == Some(arm));
            let runs = if compared { runs } else { runs.min(OFF_RUNS) };
            let seeds = (0..runs).map(|run| experiment.seed.wrapping_add(u64::from(run)));
            all.extend(seeds.map(|seed| Planned { experiment: at, arm, seed }));
        }
    }
    all
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
        let planned = plan(&experiments, 20);
        assert_eq!(planned.len(), 2 * (20 + 20 + 5));
        assert_eq!(planned[0], Planned { experiment: 0, arm: 0, seed: 5 });
        assert_eq!(planned[44], Planned { experiment: 0, arm: 2, seed: 9 });
        assert_eq!(plan(&experiments[..1], 3).len(), 9);
    }

    #[test]
    fn results_go_where_they_belong() {
        let experiments = [experiment(CLAIM), experiment(CLAIM)];
        let planned = plan(&experiments, 2);
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
