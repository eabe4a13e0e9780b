//! `keel lab`: published experiments, ours beside theirs, on all threads of the host.

mod decisions;
mod sensitivity;

use crate::args::{LabArgs, ListArgs, Listed};
use crate::experiments::{self, Made};
use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::progress::Bar;
use crate::show;
use keel_experiment::plan::{RUNS, gather, plan};
use keel_experiment::{Experiment, Planned, judge};
use keel_report::ExperimentReport;

pub(crate) fn run(args: &LabArgs, lab: &Lab) -> Result<Code, Failure> {
    if args.list {
        let list = ListArgs { what: Some(Listed::Experiments), json: args.json };
        return super::list::run(&list, lab);
    }
    if !args.decisions.is_empty() {
        return decisions::run(args, lab);
    }
    let experiments = experiments::chosen(lab, &args.experiments)?;
    if args.sensitivity {
        return sensitivity::run(args, lab, &experiments);
    }
    let planned = plan(&experiments, args.runs.unwrap_or(RUNS));
    let made = make(args, lab, &experiments, &planned);
    let code = worst(&made);
    let figures = made.into_iter().map(|made| made.figures).collect();
    let gathered = gather(&experiments, &planned, figures);
    let reports: Vec<ExperimentReport> = experiments
        .iter()
        .zip(&gathered)
        .map(|(experiment, arms)| ExperimentReport::new(experiment, arms, &judge(experiment, arms)))
        .collect();
    show::experiments(&reports, args.json)?;
    Ok(code)
}

/// All planned runs, in their order.
fn make(args: &LabArgs, lab: &Lab, experiments: &[Experiment], planned: &[Planned]) -> Vec<Made> {
    let arms: Vec<_> = experiments.iter().map(|experiment| experiments::arms(lab, experiment)).collect();
    let longest = planned.iter().map(|run| experiments[run.experiment].until.longest());
    let bar = Bar::new(longest.sum());
    keel_lab::each(planned, args.jobs, |run| {
        let experiment = &experiments[run.experiment];
        experiments::make(lab, experiment, &arms[run.experiment][run.arm], run.seed, &bar)
    })
}

/// The lab ends as its worst run. That an experiment is not reached is a result, no failure.
fn worst(made: &[Made]) -> Code {
    made.iter().map(|made| made.code).max_by_key(|code| *code as u8).unwrap_or(Code::Done)
}
