//! `keel lab`: repeats published experiments, on all threads of the host, and compares the results.

mod decisions;
mod matrix;
mod page;
mod sensitivity;

use crate::args::{CostsArg, LabArgs, ListArgs, Listed};
use crate::experiments::{self, Batch, How, Made, complete, make_enough};
use crate::failure::{Code, Failure};
use crate::host;
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::output::{Output, note};
use crate::outputs::both;
use crate::progress::Bar;
use crate::show;
use keel_experiment::plan::plan;
use keel_experiment::{Experiment, Planned};
use keel_report::{PartialRuns, lab_page};
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
    let experiments = experiments::chosen(lab, &args.experiments, programs(args), &Process)?;
    if args.matrix {
        return matrix::run(args, lab, &experiments);
    }
    if args.sensitivity {
        return sensitivity::run(args, lab, &experiments);
    }
    let mut output = page::reserve(args)?;
    let work = interrupt::work();
    let bar = Bar::new(experiments::longest(&experiments, &plan(&experiments, args.runs)));
    let Batch { asked, made } = make_enough(lab, &experiments, args.runs, &how(args), &bar);
    drop(bar);
    let cut = partial(&made);
    let code = worst(&made);
    let (planned, figures) = complete(&asked, made);
    // Of a partial result, only experiments whose runs are all complete are judged.
    let reports = experiments::reports(&experiments, &asked, &planned, figures);
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

/// Returns the folder with the programs of experiments. The matrix uses only experiments that need none.
fn programs(args: &LabArgs) -> Option<&Path> {
    (!args.matrix && !args.sensitivity).then_some(&args.programs)
}

/// Returns the number of parallel runs.
fn jobs(args: &LabArgs) -> Option<NonZeroUsize> {
    host::jobs(args.jobs)
}

fn tell_of_jobs(args: &LabArgs) {
    let most = host::most_jobs();
    if let Some(asked) = args.jobs.filter(|&asked| asked > most) {
        note(format_args!("--jobs {asked}: this host allows at most {most} at a time"));
    }
}

/// Makes all planned runs, in order. Those that a signal cut short are `None`.
fn make(args: &LabArgs, lab: &Lab, experiments: &[Experiment], planned: &[Planned]) -> Vec<Option<Made>> {
    let bar = Bar::new(experiments::longest(experiments, planned));
    experiments::make_all(lab, experiments, planned, &how(args), &bar)
}

fn how(args: &LabArgs) -> How {
    How {
        jobs: args.jobs,
        engine: args.engine.into(),
        native: args.costs == CostsArg::Native,
        programs: args.programs.clone(),
    }
}

/// Returns how a signal cut the result short, if one did.
fn partial(made: &[Option<Made>]) -> Option<PartialRuns> {
    let complete = made.iter().flatten().count();
    let by = interrupt::by().filter(|_| complete < made.len())?;
    Some(PartialRuns::new(by, complete, made.len()))
}

/// Returns the exit code of the worst run. An experiment that is not reproduced is a result, not a failure.
fn worst(made: &[Option<Made>]) -> Code {
    made.iter().flatten().map(|made| made.code).max_by_key(|code| *code as u8).unwrap_or(Code::Done)
}
