//! Results, passed to the `report` crate in the way that stdout can show them.

use crate::failure::{Code, Failure};
use crate::output::print;
use crate::terminal::Terminal;
use keel_gate::Regression;
use keel_report::{
    CheckReport, DecisionsReport, ExperimentReport, MatrixReport, PartialRuns, RunReport, SensitivityReport,
    Style, WaitsReport, compare, decisions, experiment, gate, matrix, sensitivity, table,
};
use serde::Serialize;

/// What many runs print as JSON, of which a signal may have cut off some.
#[derive(Serialize)]
struct Cut<'a, T> {
    #[serde(flatten)]
    partial: Option<&'a PartialRuns>,
    #[serde(flatten)]
    of: T,
}

/// Prints what came of many runs.
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

/// What `keel compare --json` prints.
#[derive(Serialize)]
struct Runs<'a> {
    runs: &'a [RunReport],
    /// Schedulers whose runs are identical, whatever the seed.
    seedless: Vec<&'a str>,
    /// One for each scheduler, where a baseline was given.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    baseline: &'a [Regression],
}

/// JSON whose fields keep the order in which they are documented.
fn in_order(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("reports have string keys alone") + "\n"
}

/// What `keel replay --json` prints: the run, and how far it can be trusted.
#[derive(Serialize)]
struct Replayed<'a> {
    confidence: &'a str,
    notes: &'a [String],
    #[serde(flatten)]
    run: &'a RunReport,
}

/// Prints a replay: how far it can be trusted, then the run.
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

/// Prints many runs; those of one scheduler follow one another. And how they fare beside a baseline. The table is of runs
/// that are complete, if each scheduler has one.
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

/// The table of many runs, some of which may be partial.
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
    format!("The others are shown as far as they got: compare with care.\n\n{table}")
}

/// How the budgets and the baseline hold.
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
pub(crate) fn experiments(
    experiments: &[ExperimentReport],
    partial: Option<&PartialRuns>,
    as_json: bool,
) -> Result<(), Failure> {
    of_many(Experiments { experiments }, |style| experiment::table(experiments, style), partial, as_json)
}

/// Prints how far constants move experiments.
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

/// What `keel lab --matrix --json` prints.
#[derive(Serialize)]
struct Matrix<'a> {
    matrix: &'a MatrixReport,
}

/// Prints how every scheduler does.
pub(crate) fn matrix(
    matrix: &MatrixReport,
    partial: Option<&PartialRuns>,
    as_json: bool,
) -> Result<(), Failure> {
    of_many(Matrix { matrix }, |style| matrix::table(matrix, style), partial, as_json)
}

/// What `keel lab --decisions --json` prints.
#[derive(Serialize)]
struct Decisions<'a> {
    decisions: &'a [DecisionsReport],
}

/// Prints what decisions cost.
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

/// The exit code of a run that was made.
pub(crate) fn code(run: &RunReport) -> Code {
    let held = run.strict.as_ref().is_none_or(|ruling| ruling.passed);
    code_of(run.failed(), held && run.baseline.as_ref().is_none_or(|found| found.passed))
}

/// The exit code of figures beside a baseline's.
pub(crate) fn regressed(found: &Regression) -> Code {
    code_of(false, found.passed)
}

/// A scheduler that failed says more than any budget.
pub(crate) fn code_of(failed: bool, passed: bool) -> Code {
    match (failed, passed) {
        (true, _) => Code::Scheduler,
        (false, false) => Code::Found,
        (false, true) => Code::Done,
    }
}

/// As wide and colourful as stdout takes it.
fn style() -> Style {
    match Terminal::of(&std::io::stdout()) {
        Some(terminal) => Style::terminal(terminal.columns, !terminal.colour),
        None => Style::PLAIN,
    }
}
