//! `keel lab --matrix`: runs every built-in scheduler on every experiment's workload.

use super::{make, page, partial};
use crate::args::LabArgs;
use crate::experiments::{self, Made, complete};
use crate::failure::{Code, Failure};
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::output::Output;
use crate::outputs::both;
use crate::show;
use keel_abi::task::Policy;
use keel_experiment::matrix::{cells, everyone};
use keel_experiment::plan::{gather, plan};
use keel_experiment::{ArmFigures, Experiment};
use keel_lab::RunSpec;
use keel_report::MatrixReport;
use keel_report::matrix::RowReport;

/// The order of the columns: the simplest first, then by age, the oldest first; any others follow.
const BY_AGE: &[&str] = &["fifo", "bsd", "goodness", "mq", "o1", "ule", "cfs", "eevdf"];
/// The default number of runs of a scheduler in each row.
const RUNS: u32 = 3;

pub(super) fn run(args: &LabArgs, lab: &Lab, experiments: &[Experiment]) -> Result<Code, Failure> {
    let mut output = page::reserve(args)?;
    let work = interrupt::work();
    let mut schedulers: Vec<String> = (lab.schedulers)().into_iter().map(|(name, _)| name).collect();
    schedulers.sort_by_key(|name| BY_AGE.iter().position(|old| old == name).unwrap_or(BY_AGE.len()));
    let runs = args.runs.unwrap_or(RUNS);
    let rows: Vec<Experiment> = experiments.iter().map(|one| everyone(one, &schedulers)).collect();
    let asked: Vec<Experiment> = rows.iter().filter(|row| !is_real_time(args, lab, row)).cloned().collect();
    let planned = plan(&asked, Some(runs));
    let made = make(args, lab, &asked, &planned);
    let code = worst(&made);
    let cut = partial(&made);
    let (planned, figures) = complete(&planned, made);
    let gathered = gather(&asked, &planned, figures);
    let report = MatrixReport { schedulers, runs, rows: reports(&rows, &asked, &gathered) };
    let written = page::write(&mut output, || keel_report::lab_page::of_matrix(&report));
    drop(work);
    both(written, show::matrix(&report, cut.as_ref(), args.json))?;
    output.map_or(Ok(()), Output::keep)?;
    Ok(interrupt::code(true, code))
}

/// Returns one row per experiment, with cells only if the choice of scheduler has an effect.
fn reports(rows: &[Experiment], asked: &[Experiment], gathered: &[Vec<ArmFigures>]) -> Vec<RowReport> {
    let report = |row: &Experiment| {
        let made = asked.iter().zip(gathered).find(|(asked, _)| asked.id == row.id);
        let cells = made.map(|(row, arms)| cells(row, arms));
        RowReport::new(row, cells.as_deref())
    };
    rows.iter().map(report).collect()
}

/// Returns whether all tasks have a real-time policy, so that the choice of scheduler has no effect in the row.
fn is_real_time(args: &LabArgs, lab: &Lab, row: &Experiment) -> bool {
    let all = |spec: &RunSpec| {
        let tasks = &spec.workload.tasks;
        let is = |policy| matches!(policy, Policy::Fifo(_) | Policy::RoundRobin(_));
        !tasks.is_empty() && tasks.iter().all(|task| is(task.policy))
    };
    experiments::arms(lab, row, &args.programs, &Process)
        .first()
        .is_some_and(|spec| spec.as_ref().is_ok_and(all))
}

/// Returns the exit code. A scheduler that fails at a workload doesn't count: its cell reports that as a result.
fn worst(made: &[Option<Made>]) -> Code {
    let codes = made.iter().flatten().map(|made| made.code).filter(|code| *code != Code::Scheduler);
    codes.max_by_key(|code| *code as u8).unwrap_or(Code::Done)
}
