//! Prints results with the `report` crate, in the style that stdout supports.

use crate::failure::{Code, Failure};
use crate::output::print;
use crate::terminal::Terminal;
use keel_gate::Regression;
use keel_report::{
    CheckReport, DecisionsReport, ExperimentReport, MatrixReport, PartialRuns, RunReport, SensitivityReport,
    Style, WaitsReport, compare, decisions, experiment, gate, matrix, sensitivity, table,
};
use serde::Serialize;

/// The JSON of many runs, which a signal may have cut short.
#[derive(Serialize)]
struct Cut<'a, T> {
    #[serde(flatten)]
    partial: Option<&'a PartialRuns>,
    #[serde(flatten)]
    of: T,
}

/// Prints the results of many runs.
fn of_many(
    of: impl Serialize,
    text: impl FnOnce(Style) -> String,
    partial: Option<&PartialRuns>,
    as_json: bool,
) -> Result<(), Failure> {
    if as_json {
        return print(&in_order(&Cut { partial, of }));
    }
    let style = style();
    let head = partial.map_or(String::new(), |partial| partial.head(style));
    print(&(head + &text(style)))
}

/// The output of `keel compare --json`.
#[derive(Serialize)]
struct Runs<'a> {
    runs: &'a [RunReport],
    /// Schedulers whose runs are identical, whatever the seed.
    seedless: Vec<&'a str>,
    /// One per scheduler, if a baseline was given.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    baseline: &'a [Regression],
}

/// Returns JSON with its fields in the documented order.
fn in_order(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("reports have only string keys") + "\n"
}

/// The output of `keel replay --json`: the run, and how far you can trust it.
#[derive(Serialize)]
struct Replayed<'a> {
    confidence: &'a str,
    notes: &'a [String],
    #[serde(flatten)]
    run: &'a RunReport,
}

/// Prints a replay: how far you can trust it, then the run.
pub(crate) fn replay(known: &keel_replay::Confidence, run: &RunReport, as_json: bool) -> Result<(), Failure> {
    let notes = known.sentences();
    match as_json {
        true => print(&in_order(&Replayed { confidence: known.level(), notes: &notes, run })),
        false => print(&(notes.join("\n") + "\n\n" + &table::run(run, style()))),
    }
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

/// Prints many runs, and how they compare with a baseline. The runs of one scheduler must be consecutive. If every
/// scheduler has a complete run, the table includes only complete runs.
pub(crate) fn many(
    runs: &[RunReport],
    baseline: &[Regression],
    partial: Option<&PartialRuns>,
    as_json: bool,
) -> Result<(), Failure> {
    let json = Runs { runs, seedless: compare::seedless(runs), baseline };
    of_many(
        json,
        |style| compared(runs, partial.is_some(), style) + &gates(runs, baseline, style),
        partial,
        as_json,
    )
}

/// Returns the table of many runs, some of which may be partial.
fn compared(runs: &[RunReport], is_partial: bool, style: Style) -> String {
    if !is_partial {
        return compare::table(runs, style);
    }
    let complete: Vec<RunReport> = runs.iter().filter(|run| run.partial.is_none()).cloned().collect();
    let has_one = |run: &RunReport| complete.iter().any(|other| other.scheduler == run.scheduler);
    if runs.iter().all(has_one) {
        return compare::table(&complete, style);
    }
    let table = compare::table(runs, style);
    format!("The table includes incomplete runs: compare with care.\n\n{table}")
}

/// Returns the results of the budgets and the baseline.
fn gates(runs: &[RunReport], baseline: &[Regression], style: Style) -> String {
    let mut text = String::new();
    if runs.iter().any(|run| run.strict.is_some()) {
        text.push('\n');
    }
    for group in runs.chunk_by(|a, b| a.scheduler == b.scheduler) {
        let rulings: Vec<_> = group.iter().filter_map(|run| Some((run.seed, run.strict.as_ref()?))).collect();
        text += &gate::line(&group[0].scheduler, &rulings, style);
    }
    text + &baseline.iter().map(|found| gate::regression(found, style)).collect::<String>()
}

/// The output of `keel lab --json`.
#[derive(Serialize)]
struct Experiments<'a> {
    experiments: &'a [ExperimentReport],
}

/// The output of `keel lab --sensitivity --json`.
#[derive(Serialize)]
struct Sensitivity<'a> {
    sensitivity: &'a [SensitivityReport],
}

/// Prints experiments.
pub(crate) fn experiments(
    experiments: &[ExperimentReport],
    partial: Option<&PartialRuns>,
    as_json: bool,
) -> Result<(), Failure> {
    of_many(Experiments { experiments }, |style| experiment::table(experiments, style), partial, as_json)
}

/// Prints how much constants affect experiments.
pub(crate) fn sensitivity(
    experiments: &[SensitivityReport],
    partial: Option<&PartialRuns>,
    as_json: bool,
) -> Result<(), Failure> {
    of_many(
        Sensitivity { sensitivity: experiments },
        |style| sensitivity::table(experiments, style),
        partial,
        as_json,
    )
}

/// The output of `keel lab --matrix --json`.
#[derive(Serialize)]
struct Matrix<'a> {
    matrix: &'a MatrixReport,
}

/// Prints the matrix of schedulers and experiments.
pub(crate) fn matrix(
    matrix: &MatrixReport,
    partial: Option<&PartialRuns>,
    as_json: bool,
) -> Result<(), Failure> {
    of_many(Matrix { matrix }, |style| matrix::table(matrix, style), partial, as_json)
}

/// The output of `keel lab --decisions --json`.
#[derive(Serialize)]
struct Decisions<'a> {
    decisions: &'a [DecisionsReport],
}

/// Prints the costs of decisions.
pub(crate) fn decisions(
    schedulers: &[DecisionsReport],
    partial: Option<&PartialRuns>,
    as_json: bool,
) -> Result<(), Failure> {
    of_many(
        Decisions { decisions: schedulers },
        |style| decisions::table(schedulers, style),
        partial,
        as_json,
    )
}

/// Returns the exit code for a finished run.
pub(crate) fn code(run: &RunReport) -> Code {
    let held = run.strict.as_ref().is_none_or(|ruling| ruling.passed);
    code_of(run.failed(), held && run.baseline.as_ref().is_none_or(|found| found.passed))
}

/// Returns the exit code for a comparison with a baseline.
pub(crate) fn regressed(found: &Regression) -> Code {
    code_of(false, found.passed)
}

/// Returns the exit code. A failed scheduler takes precedence over any budget.
pub(crate) fn code_of(failed: bool, passed: bool) -> Code {
    match (failed, passed) {
        (true, _) => Code::Scheduler,
        (false, false) => Code::Found,
        (false, true) => Code::Done,
    }
}

/// Returns the style for stdout: its width, and whether it supports colour.
fn style() -> Style {
    match Terminal::of(&std::io::stdout()) {
        Some(terminal) => Style::terminal(terminal.columns, !terminal.colour),
        None => Style::PLAIN,
    }
}
