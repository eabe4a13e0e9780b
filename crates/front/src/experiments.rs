//! Selects experiments, plans their arms, and makes their runs.

use crate::caller::Caller;
use crate::close::close;
use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::text::shown;
use crate::{host, inputs, program};
use keel_abi::{Instant, Span};
use keel_check::{Costs, Measure, Measured, WastedCores, Window};
use keel_experiment::plan::{gather, more, once, plan};
use keel_experiment::{Experiment, Planned, RunFigures, Taken, Until, judge};
use keel_lab::{Engine, Outcome, Progress, RunSpec};
use keel_report::ExperimentReport;
use keel_trace::Fanout;
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

/// Returns the experiments with these names or in these files, each once. If none are given, returns all built-in ones
/// except those whose programs are not in `programs`; without a folder, all built-in ones that need no program.
pub fn chosen(
    lab: &Lab,
    given: &[String],
    programs: Option<&Path>,
    caller: &dyn Caller,
) -> Result<Vec<Experiment>, Failure> {
    let built_in = (lab.experiments)();
    if given.is_empty() {
        return Ok(built_in.into_iter().filter(|one| is_complete(one, programs, caller)).collect());
    }
    let mut chosen: Vec<Experiment> = Vec::new();
    for name in given {
        let experiment = match built_in.iter().find(|experiment| experiment.id == *name) {
            Some(experiment) => experiment.clone(),
            None if name.contains(['/', '.']) => from_file(name)?,
            None => return Err(unknown(name, &built_in)),
        };
        if let Some(missing) = programs.and_then(|programs| missing(&experiment, programs)) {
            return Err(missing);
        }
        if !chosen.iter().any(|before| before.id == experiment.id) {
            chosen.push(experiment);
        }
    }
    Ok(chosen)
}

/// Returns whether all programs that it needs are present. Notes a missing one.
fn is_complete(experiment: &Experiment, programs: Option<&Path>, caller: &dyn Caller) -> bool {
    if !experiment.needs_programs() {
        return true;
    }
    let Some(programs) = programs else { return false };
    let Some(missing) = missing(experiment, programs) else { return true };
    caller.note(&format!(
        "{} is skipped: {}; keel lab {0} says how to get it",
        experiment.id,
        missing.sentence()
    ));
    false
}

/// Returns the failure for the first missing program.
fn missing(experiment: &Experiment, programs: &Path) -> Option<Failure> {
    experiment.arms.iter().find_map(|arm| {
        let version = arm.version.as_deref()?;
        program::of_version(&arm.scheduler, version, programs).err()
    })
}

fn from_file(name: &str) -> Result<Experiment, Failure> {
    let text = inputs::document("experiment", name)?;
    keel_experiment::read(name, &text).map_err(|e| Failure::input(shown(&e.to_string())))
}

fn unknown(name: &str, built_in: &[Experiment]) -> Failure {
    let names: Vec<&str> = built_in.iter().map(|experiment| experiment.id.as_str()).collect();
    let which = match close(name, &names)[..] {
        [] => format!("the built-in ones are {}", names.join(", ")),
        ref close => format!("did you mean {}?", close.join(" or ")),
    };
    Failure::input(format!("unknown experiment '{}'; {which}", shown(name)))
        .help("to run your own experiment, name its file: keel lab ./mine.toml")
}

/// Returns the specs of each arm of an experiment. An arm that cannot run does not prevent the others.
pub fn arms(
    lab: &Lab,
    experiment: &Experiment,
    programs: &Path,
    caller: &dyn Caller,
) -> Vec<Result<RunSpec, Failure>> {
    experiment
        .arms
        .iter()
        .map(|arm| inputs::arm(lab, arm, programs, experiment.until.longest(), experiment.noise, caller))
        .collect()
}

/// The options for runs of experiments.
#[derive(Clone, Debug)]
pub struct How {
    /// Parallel runs; one per CPU of the host if `None`.
    pub jobs: Option<NonZeroUsize>,
    /// The engine that executes the schedulers' instructions.
    pub engine: Engine,
    /// Whether instructions cost as much as compiled C's.
    pub native: bool,
    /// The folder of programs with versions.
    pub programs: PathBuf,
}

/// Returns the maximum virtual time that these runs take. Runs that several experiments share are made once.
pub fn longest(experiments: &[Experiment], planned: &[Planned]) -> Span {
    let (first, _) = once(experiments, planned);
    first.iter().map(|&at| experiments[planned[at].experiment].until.longest()).sum()
}

/// Makes all planned runs, in order. Those that a stop cut short are `None`.
pub fn make_all(
    lab: &Lab,
    experiments: &[Experiment],
    planned: &[Planned],
    how: &How,
    caller: &dyn Caller,
) -> Vec<Option<Made>> {
    let by = |spec: RunSpec| {
        let mut spec = RunSpec { engine: how.engine, ..spec };
        if how.native {
            keel_lab::native::charge(&mut spec.machine, &spec.scheduler.name);
        }
        spec
    };
    let of = |one| arms(lab, one, &how.programs, caller).into_iter().map(|arm| arm.map(by)).collect();
    let arms: Vec<Vec<_>> = experiments.iter().map(of).collect();
    let (first, uses) = once(experiments, planned);
    let runs: Vec<Planned> = first.iter().map(|&at| planned[at]).collect();
    let made = keel_lab::each(&runs, host::jobs(how.jobs), |run| {
        make(lab, &experiments[run.experiment], &arms[run.experiment][run.arm], run.seed, caller)
    });
    uses.into_iter().map(|at| made[at].clone()).collect()
}

/// Requested runs and their results.
pub struct Batch {
    /// The requested runs.
    pub asked: Vec<Planned>,
    /// Their results, in the same order; `None` for a run that a stop cut short.
    pub made: Vec<Option<Made>>,
}

/// Makes `runs` runs of each arm, or if that is `None`, as many as the verdicts need.
pub fn make_enough(
    lab: &Lab,
    experiments: &[Experiment],
    runs: Option<u32>,
    how: &How,
    caller: &dyn Caller,
) -> Batch {
    let asked = plan(experiments, runs);
    let mut batch = Batch { made: make_all(lab, experiments, &asked, how, caller), asked };
    if runs.is_some() || batch.made.iter().any(Option::is_none) {
        return batch;
    }
    let (planned, figures) = complete(&batch.asked, batch.made.clone());
    let rest = more(experiments, &gather(experiments, &planned, figures));
    caller.expect(longest(experiments, &rest));
    batch.made.extend(make_all(lab, experiments, &rest, how, caller));
    batch.asked.extend(rest);
    batch
}

/// Returns the reports of the experiments whose requested runs are all complete.
pub fn reports(
    experiments: &[Experiment],
    asked: &[Planned],
    planned: &[Planned],
    figures: Vec<RunFigures>,
) -> Vec<ExperimentReport> {
    let gathered = gather(experiments, planned, figures);
    let is_whole = |at: usize| {
        let made: usize = gathered[at].iter().map(|arm| arm.runs.len()).sum();
        made == asked.iter().filter(|run| run.experiment == at).count()
    };
    let of = |(experiment, arms): (&Experiment, &Vec<_>)| {
        ExperimentReport::new(experiment, arms, &judge(experiment, arms))
    };
    let whole = experiments.iter().zip(&gathered).enumerate().filter(|&(at, _)| is_whole(at));
    whole.map(|(_, row)| of(row)).collect()
}

/// Returns the runs that completed, with their results.
pub fn complete(planned: &[Planned], made: Vec<Option<Made>>) -> (Vec<Planned>, Vec<RunFigures>) {
    planned.iter().zip(made).filter_map(|(&run, made)| Some((run, made?.figures))).unzip()
}

/// A run that was made or has failed, and the exit code of `keel` if nothing worse happens.
#[derive(Clone)]
pub struct Made {
    /// Its figures.
    pub figures: RunFigures,
    /// The exit code of a process that makes only this run.
    pub code: Code,
}

/// Makes one run of an arm. Returns `None` if a signal stops or prevents it. The result includes any error.
pub fn make(
    lab: &Lab,
    experiment: &Experiment,
    arm: &Result<RunSpec, Failure>,
    seed: u64,
    caller: &dyn Caller,
) -> Option<Made> {
    if caller.stop().is_asked() {
        return None;
    }
    let (reached, taken) = (Cell::new(Span::ZERO), Cell::new(Taken::default()));
    let stopped = Cell::new(false);
    let result = arm.clone().and_then(|spec| {
        let spec = RunSpec { seed, ..spec };
        // A bug in one run must not abort the others; the panic hook has reported it.
        let run = AssertUnwindSafe(|| measure(lab, experiment, &spec, caller, &reached, &taken, &stopped));
        std::panic::catch_unwind(run).unwrap_or_else(|_| {
            Err(Failure::from_lab(keel_lab::LabError::Bug("the run was interrupted".to_owned())))
        })
    });
    caller.advance(experiment.until.longest().saturating_sub(reached.get()));
    let code = result.as_ref().map_or_else(|failure| failure.code, |_| Code::Done);
    let result = result.map_err(|failure| failure.sentence().to_owned());
    (!stopped.get()).then(|| Made { figures: RunFigures { seed, costs: taken.get(), result }, code })
}

fn measure(
    lab: &Lab,
    experiment: &Experiment,
    spec: &RunSpec,
    caller: &dyn Caller,
    reached: &Cell<Span>,
    taken: &Cell<Taken>,
    stopped: &Cell<bool>,
) -> Result<Measured, Failure> {
    let mut window = Window::after(experiment.warm_up);
    let mut waste = experiment.measures(Measure::Wasted).then(|| WastedCores::new(0));
    let mut progress = |progress: Progress| {
        let now = progress.now.since(Instant::ZERO);
        caller.advance(now.saturating_sub(reached.get()));
        reached.set(now);
    };
    let run = match experiment.until {
        Until::After(_) => lab.run,
        Until::End { .. } => lab.run_to_end,
    };
    let mut sinks = Fanout::new().with(&mut window);
    if let Some(waste) = &mut waste {
        sinks = sinks.with(waste);
    }
    let outcome = run(spec, &mut sinks, &mut progress, &caller.stop()).map_err(Failure::from_lab)?;
    drop(sinks);
    stopped.set(outcome.stopped);
    taken.set(taken_by(spec, &outcome));
    if outcome.exit.is_failure() {
        return Err(Failure::scheduler(failed(&outcome)));
    }
    let measured = window.measured().ok_or_else(|| Failure::input("the run ended before its warm-up did"))?;
    let user = outcome.counters.user_time.as_s_f64() / taken.get().machine_time.as_s_f64();
    let wasted = waste.map(|mut waste| waste.verdict().wasted);
    Ok(Measured { user_share: Some(user), wasted, ..measured })
}

fn taken_by(spec: &RunSpec, outcome: &Outcome) -> Taken {
    let overhead = outcome.overhead;
    Taken {
        costs: Costs {
            callback: overhead.callback,
            lock_wait: overhead.lock_wait,
            instructions: overhead.instructions,
        },
        end: outcome.end.since(Instant::ZERO),
        machine_time: outcome.end.since(Instant::ZERO) * u64::from(spec.machine.topology.cpus()),
    }
}

fn failed(outcome: &Outcome) -> String {
    let words: Vec<&str> =
        [outcome.exit.reason(), &outcome.message].into_iter().filter(|words| !words.is_empty()).collect();
    format!("the scheduler failed: {}", words.join(", "))
}
