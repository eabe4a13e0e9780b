//! Results, handed to the report room in the way that stdout can show them.

use crate::failure::{Code, Failure};
use crate::host::Terminal;
use crate::output::print;
use keel_report::{
    CheckReport, DecisionsReport, ExperimentReport, MatrixReport, RunReport, SensitivityReport, Style,
    WaitsReport, compare, decisions, experiment, matrix, sensitivity, table,
};
use serde::Serialize;

/// What `keel compare --json` prints.
#[derive(Serialize)]
struct Runs<'a> {
    runs: &'a [RunReport],
}

/// JSON whose fields keep the order in which they are documented.
fn in_order(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("reports have string keys alone") + "\n"
}

/// Prints one run.
pub(crate) fn one(run: &RunReport, as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print(&in_order(run)),
        false => print(&table::run(run, style())),
    }
}

/// Prints a trace's judgement.
pub(crate) fn check(report: &CheckReport, as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print(&in_order(report)),
        false => print(&report.text(style())),
    }
}

/// Prints why a task waited.
pub(crate) fn waits(report: &WaitsReport, as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print(&in_order(report)),
        false => print(&report.text(style())),
    }
}

/// Prints many runs; those of one scheduler follow one another.
pub(crate) fn many(runs: &[RunReport], as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print(&in_order(&Runs { runs })),
        false => print(&compare::table(runs, style())),
    }
}

/// What `keel lab --json` prints.
#[derive(Serialize)]
struct Experiments<'a> {
    experiments: &'a [ExperimentReport],
}

/// What `keel lab --sensitivity --json` prints.
#[derive(Serialize)]
struct Sensitivity<'a> {
    sensitivity: &'a [SensitivityReport],
}

/// Prints experiments.
pub(crate) fn experiments(experiments: &[ExperimentReport], as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print(&in_order(&Experiments { experiments })),
        false => print(&experiment::table(experiments, style())),
    }
}

/// Prints how far constants move experiments.
pub(crate) fn sensitivity(experiments: &[SensitivityReport], as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print(&in_order(&Sensitivity { sensitivity: experiments })),
        false => print(&sensitivity::table(experiments, style())),
    }
}

/// What `keel lab --matrix --json` prints.
#[derive(Serialize)]
struct Matrix<'a> {
    matrix: &'a MatrixReport,
}

/// Prints how every scheduler does.
pub(crate) fn matrix(matrix: &MatrixReport, as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print(&in_order(&Matrix { matrix })),
        false => print(&matrix::table(matrix, style())),
    }
}

/// What `keel lab --decisions --json` prints.
#[derive(Serialize)]
struct Decisions<'a> {
    decisions: &'a [DecisionsReport],
}

/// Prints what decisions cost.
pub(crate) fn decisions(schedulers: &[DecisionsReport], as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print(&in_order(&Decisions { decisions: schedulers })),
        false => print(&decisions::table(schedulers, style())),
    }
}

/// The exit code of a run that was made: a scheduler that failed says more than any finding.
pub(crate) fn code(run: &RunReport, strict: bool) -> Code {
    match (run.failed(), strict && run.found_something()) {
        (true, _) => Code::Scheduler,
        (false, true) => Code::Found,
        (false, false) => Code::Done,
    }
}

/// As wide and colourful as stdout takes it.
fn style() -> Style {
    match Terminal::of(&std::io::stdout()) {
        Some(terminal) => Style::terminal(terminal.columns, !terminal.colour),
        None => Style::PLAIN,
    }
}
