//! `keel lab`: published experiments, ours beside theirs, on all threads of the host.

mod decisions;
mod matrix;
mod page;
mod sensitivity;

use crate::args::{CostsArg, LabArgs, ListArgs, Listed};
use crate::experiments::{self, Made};
use crate::failure::{Code, Failure};
use crate::host;
use crate::lab::Lab;
use crate::output::{Output, note};
use crate::outputs::both;
use crate::progress::Bar;
use crate::{interrupt, show};
use keel_experiment::plan::{gather, once, plan};
use keel_experiment::{Experiment, Planned, RunFigures, judge};
use keel_lab::RunSpec;
use keel_report::{ExperimentReport, PartialRuns, lab_page};
use std::num::NonZeroUsize;
use std::path::Path;

pub(crate) fn run(args: &LabArgs, lab: &Lab) -> Result<Code, Failure> {
    if args.list {
        let list = ListArgs { what: Some(Listed::Experiments), json: args.json };
        return super::list::run(&list, lab);
    }
    tell_of_jobs(args);
    if !args.decisions.is_empty() {
        return decisions::run(args, lab);
    }
    let experiments = experiments::chosen(lab, &args.experiments, programs(args))?;
    if args.matrix {
        return matrix::run(args, lab, &experiments);
    }
    if args.sensitivity {
        return sensitivity::run(args, lab, &experiments);
    }
    let mut output = page::reserve(args)?;
    let asked = plan(&experiments, args.runs);
    let work = interrupt::work();
    let made = make(args, lab, &experiments, &asked);
    let cut = partial(&made);
    let code = worst(&made);
    let (planned, figures) = complete(&asked, made);
    let gathered = gather(&experiments, &planned, figures);
    // Of a part those are judged whose every run is complete.
    let is_whole = |at: usize| {
        let made: usize = gathered[at].iter().map(|arm| arm.runs.len()).sum();
        made == asked.iter().filter(|run| run.experiment == at).count()
    };
    let reports: Vec<ExperimentReport> = experiments
        .iter()
        .zip(&gathered)
        .enumerate()
        .filter(|&(at, _)| is_whole(at))
        .map(|(_, (experiment, arms))| ExperimentReport::new(experiment, arms, &judge(experiment, arms)))
        .collect();
    let page = || {
        let pictures = page::pictures(args, lab, &experiments);
        lab_page::of_experiments(&experiments, &reports, &pictures)
    };
    let written = page::write(&mut output, page);
    drop(work);
    both(written, show::experiments(&reports, cut.as_ref(), args.json))?;
    output.map_or(Ok(()), Output::keep)?;
    Ok(interrupt::code(true, code))
}

/// Where programs of experiments are. Every scheduler's turn at all of them is of those that need none.
fn programs(args: &LabArgs) -> Option<&Path> {
    (!args.matrix && !args.sensitivity).then_some(&args.programs)
}

/// Runs side by side.
fn jobs(args: &LabArgs) -> Option<NonZeroUsize> {
    host::jobs(args.jobs)
}

fn tell_of_jobs(args: &LabArgs) {
    let most = host::most_jobs();
    if let Some(asked) = args.jobs.filter(|&asked| asked > most) {
        note(format_args!("--jobs {asked}: this host allows at most {most} at a time"));
    }
}

/// All planned runs, in their order; nothing for those that a signal kept from their end. What several experiments run alike
/// is run once.
fn make(args: &LabArgs, lab: &Lab, experiments: &[Experiment], planned: &[Planned]) -> Vec<Option<Made>> {
    let by = |spec: RunSpec| {
        let mut spec = RunSpec { engine: args.engine.into(), ..spec };
        if args.costs == CostsArg::Native {
            keel_lab::native::charge(&mut spec.machine, &spec.scheduler.name);
        }
        spec
    };
    let arms = |experiment| {
        experiments::arms(lab, experiment, &args.programs).into_iter().map(|arm| arm.map(by)).collect()
    };
    let arms: Vec<Vec<_>> = experiments.iter().map(arms).collect();
    let (first, uses) = once(experiments, planned);
    let runs: Vec<Planned> = first.iter().map(|&at| planned[at]).collect();
    let longest = runs.iter().map(|run| experiments[run.experiment].until.longest());
    let bar = Bar::new(longest.sum());
    let made = keel_lab::each(&runs, jobs(args), |run| {
        let experiment = &experiments[run.experiment];
        experiments::make(lab, experiment, &arms[run.experiment][run.arm], run.seed, &bar)
    });
    uses.into_iter().map(|at| made[at].clone()).collect()
}

/// How much of it a signal has cut off, if it has.
fn partial(made: &[Option<Made>]) -> Option<PartialRuns> {
    let complete = made.iter().flatten().count();
    let by = interrupt::by().filter(|_| complete < made.len())?;
    Some(PartialRuns::new(by, complete, made.len()))
}

/// The runs that came to their end, with what they gave.
fn complete(planned: &[Planned], made: Vec<Option<Made>>) -> (Vec<Planned>, Vec<RunFigures>) {
    planned.iter().zip(made).filter_map(|(&run, made)| Some((run, made?.figures))).unzip()
}

/// The lab ends as its worst run. That an experiment is not reached is a result, no failure.
fn worst(made: &[Option<Made>]) -> Code {
    made.iter().flatten().map(|made| made.code).max_by_key(|code| *code as u8).unwrap_or(Code::Done)
}
