//! Published experiments: reads, plans and displays them, and judges them with made-up figures.

use crate::text::{sentence, text};
use keel_check::Measured;
use keel_experiment::{Experiment, RunFigures, Taken, judge, plan};
use keel_report::{ExperimentReport, Style};

/// The number of runs per arm.
const RUNS: u32 = 3;

/// Runs the target on one experiment.
pub fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let experiments = match keel_experiment::read("e.toml", text) {
        Ok(experiment) => [experiment],
        Err(error) => return sentence(&error),
    };
    let planned = plan(&experiments, Some(RUNS));
    for figures in [nothing, something] {
        let results = planned.iter().map(|run| figures(run.seed)).collect();
        let arms = plan::gather(&experiments, &planned, results);
        show(&experiments[0], &arms[0]);
    }
}

fn show(experiment: &Experiment, arms: &[keel_experiment::ArmFigures]) {
    let judged = judge(experiment, arms);
    let report = [ExperimentReport::new(experiment, arms, &judged)];
    let style = Style { width: 80, colour: true };
    std::hint::black_box(keel_report::experiment::table(&report, style));
    serde_json::to_string(&report).expect("reports have only string keys");
}

fn nothing(seed: u64) -> RunFigures {
    RunFigures { seed, costs: Taken::default(), result: Err("there was no run".into()) }
}

fn something(seed: u64) -> RunFigures {
    RunFigures { seed, costs: Taken::default(), result: Ok(Measured::default()) }
}
