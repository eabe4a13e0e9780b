//! `keel lab`: published experiments, ours beside theirs, on all threads of the host.

mod decisions;
mod matrix;
mod page;
mod sensitivity;

use crate::args::{LabArgs, ListArgs, Listed};
use crate::experiments::{self, Made};
use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::output::Output;
use crate::progress::Bar;
use crate::show;
use keel_experiment::plan::{RUNS, gather, once, plan};
use keel_experiment::{Experiment, Planned, judge};
use keel_lab::RunSpec;
use keel_report::{ExperimentReport, lab_page};

pub(crate) fn run(args: &LabArgs, lab: &Lab) -> Result<Code, Failure> {
    if args.list {
        let list = ListArgs { what: Some(Listed::Experiments), json: args.json };
        return super::list::run(&list, lab);
    }
    if !args.decisions.is_empty() {
        return decisions::run(args, lab);
    }
    let experiments = experiments::chosen(lab, &args.experiments)?;
    if args.matrix {
        return matrix::run(args, lab, &experiments);
    }
    if args.sensitivity {
        return sensitivity::run(args, lab, &experiments);
    }
    let mut output = page::reserve(args)?;
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
    if let Some(output) = &mut output {
        let pictures = page::pictures(args, lab, &experiments);
        output.write(lab_page::of_experiments(&experiments, &reports, &pictures).as_bytes())?;
    }
    show::experiments(&reports, args.json)?;
    output.map_or(Ok(()), Output::keep)?;
    Ok(code)
}

/// All planned runs, in their order; what several experiments run alike is run once.
fn make(args: &LabArgs, lab: &Lab, experiments: &[Experiment], planned: &[Planned]) -> Vec<Made> {
    let by = |spec: RunSpec| RunSpec { engine: args.engine.into(), ..spec };
    let arms = |experiment| experiments::arms(lab, experiment).into_iter().map(|arm| arm.map(by)).collect();
    let arms: Vec<Vec<_>> = experiments.iter().map(arms).collect();
    let (first, uses) = once(experiments, planned);
    let runs: Vec<Planned> = first.iter().map(|&at| planned[at]).collect();
    let longest = runs.iter().map(|run| experiments[run.experiment].until.longest());
    let bar = Bar::new(longest.sum());
    let made = keel_lab::each(&runs, args.jobs, |run| {
        let experiment = &experiments[run.experiment];
        experiments::make(lab, experiment, &arms[run.experiment][run.arm], run.seed, &bar)
    });
    uses.into_iter().map(|at| made[at].clone()).collect()
}

/// The lab ends as its worst run. That an experiment is not reached is a result, no failure.
fn worst(made: &[Made]) -> Code {
    made.iter().map(|made| made.code).max_by_key(|code| *code as u8).unwrap_or(Code::Done)
}
