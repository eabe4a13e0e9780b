//! Makes one run.

use crate::companion;
use crate::error::LabError;
use crate::lines;
use crate::living::Living;
use crate::load;
use crate::locks;
use crate::outcome::{Counters, Outcome, Overhead};
use crate::profile;
use crate::recipe;
use crate::spec::{Engine, RunSpec};
use crate::variables::{self, Value};
use keel_abi::scx::ExitKind;
use keel_abi::{CpuId, Instant, Span, Stop};
use keel_kernel::{Exit, ProgramFailure, Scheduler, Setup, SetupError, Sim, State};
use keel_object::Object;
use keel_recipe::Action;
use keel_trace::{Class, Fanout, Sink};
use keel_vm::Vm;
use std::cell::Cell;

/// A run's progress, reported at intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The virtual instant that the run has reached.
    pub now: Instant,
    /// How long the run is.
    pub duration: Span,
    /// How often tasks continued their programs.
    pub programs_went_on: u64,
}

/// How many times progress is reported during a run.
const REPORTS: u64 = 200;

/// Runs a spec to its end. Passes the events that `sink` wants to it, and reports progress to `progress`. The run is
/// deterministic: its events are a function of the spec.
pub fn run(
    spec: &RunSpec,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, LabError> {
    run_or_stop(spec, sink, progress, &Stop::default())
}

/// Like [`run`], but if `stop` is set the run ends at the virtual instant that it has reached.
pub fn run_or_stop(
    spec: &RunSpec,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Progress),
    stop: &Stop,
) -> Result<Outcome, LabError> {
    make(spec, sink, &Cell::new(false), progress, stop).map(|(outcome, _)| outcome)
}

/// Like [`run`], but the run ends as soon as the workload's last task has exited, or a little later.
pub fn run_to_end(
    spec: &RunSpec,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, LabError> {
    run_to_end_or_stop(spec, sink, progress, &Stop::default())
}

/// Like [`run_to_end`], but if `stop` is set the run ends at the virtual instant that it has reached.
pub fn run_to_end_or_stop(
    spec: &RunSpec,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Progress),
    stop: &Stop,
) -> Result<Outcome, LabError> {
    let gone = Cell::new(false);
    let others = keel_kernel::noise::threads(spec.noise, &spec.machine);
    let mut living = Living::new(&spec.workload, others, &gone);
    let mut both = Fanout::new().with(sink).with(&mut living);
    make(spec, &mut both, &gone, progress, stop).map(|(outcome, _)| outcome)
}

/// Like [`run`], and also returns the scheduler's global variables as it left them: none if the kernel refused to
/// attach it.
pub fn run_and_read(
    spec: &RunSpec,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Outcome, Vec<Value>), LabError> {
    make(spec, sink, &Cell::new(false), progress, &Stop::default())
}

/// A run before its first event, or its outcome if the kernel refused the scheduler.
pub(crate) enum Begun {
    /// The simulated kernel, the object that is loaded in it, and the recipe's actions.
    Running(Box<Sim<Vm>>, Object, Vec<Action>),
    /// The kernel did not attach it.
    Refused(Outcome),
}

/// Loads a spec's scheduler into its kernel.
pub(crate) fn begin(spec: &RunSpec, wants: Class) -> Result<Begun, LabError> {
    let actions = recipe::plan(spec)?;
    let object = load::object(spec, &actions)?;
    let scheduler = load::scheduler(&spec.scheduler, &object)?;
    let vm = load::engine(spec, &object)?;
    Ok(match attach(spec, &actions, &object, scheduler, vm, wants)? {
        Attached::Running(sim) => Begun::Running(sim, object, actions),
        Attached::Refused(outcome) => Begun::Refused(*outcome),
    })
}

/// A kernel with the scheduler attached, or the outcome if it was refused.
pub(crate) enum Attached {
    /// The run can begin.
    Running(Box<Sim<Vm>>),
    /// The kernel did not attach it.
    Refused(Box<Outcome>),
}

/// Follows the recipe up to the moment when the scheduler is attached.
pub(crate) fn attach(
    spec: &RunSpec,
    actions: &[Action],
    object: &Object,
    scheduler: Option<Scheduler>,
    mut vm: Vm,
    wants: Class,
) -> Result<Attached, LabError> {
    recipe::fill(&spec.scheduler.name, actions, object, &mut vm, spec.machine.topology.cpus())?;
    let programs = recipe::programs(&spec.scheduler.name, actions, object)?;
    let setup = Setup {
        machine: spec.machine.clone(),
        workload: spec.workload.clone(),
        scheduler,
        programs,
        fair: load::fair_settings(spec)?,
        seed: spec.seed,
        noise: spec.noise,
    };
    let companions = companion::companions(&spec.scheduler.name, actions, object, &mut vm)?;
    match Sim::with_companions(vm, setup, companions, wants) {
        Ok(mut sim) => {
            profile::keep(spec, &mut sim);
            if spec.engine == Engine::Frames {
                sim.step_by_frames();
            }
            if let Some(holds) = &spec.order {
                sim.take_order(holds.order());
            }
            if let Some(after) = recipe::restart_after(actions) {
                sim.restart_after(after);
            }
            Ok(Attached::Running(Box::new(sim)))
        }
        Err(SetupError::Refused(why)) => Ok(Attached::Refused(Box::new(refused(why)))),
        Err(SetupError::Program(failure)) => Err(program_failed(spec, &failure)),
        Err(e @ (SetupError::NoRoom(_) | SetupError::NoRoomForCgroups(_))) => {
            Err(LabError::BadInput(e.to_string()))
        }
    }
}

/// Returns the error for a scheduler whose user-space half could not continue.
pub(crate) fn program_failed(spec: &RunSpec, failure: &ProgramFailure) -> LabError {
    LabError::Program(format!("{}: {failure}", spec.scheduler.name))
}

/// Makes a run, which ends early once `gone` is set.
fn make(
    spec: &RunSpec,
    sink: &mut dyn Sink,
    gone: &Cell<bool>,
    progress: &mut dyn FnMut(Progress),
    stop: &Stop,
) -> Result<(Outcome, Vec<Value>), LabError> {
    if let Some(argv) = spec.scheduler.bytes.program() {
        return crate::program::make(spec, argv, sink, gone, progress, stop).map(|it| (it, Vec::new()));
    }
    let (mut sim, object, actions) = match begin(spec, sink.wants())? {
        Begun::Running(sim, object, actions) => (*sim, object, actions),
        Begun::Refused(outcome) => return Ok((outcome, Vec::new())),
    };
    sim.stop_when_asked(stop.clone());
    let again = &mut |sim: &mut Sim<Vm>| attach_again(spec, &actions, &object, sim);
    let ended = go_on(&mut sim, spec.duration, sink, gone, stop, again, progress)?;
    sim.finish(sink);
    if let Some(failure) = sim.failed_program() {
        return Err(program_failed(spec, failure));
    }
    let variables = variables::read(&object, sim.engine().world_ref());
    let lines = lines::read(&object, &mut sim);
    let locks = locks::read(&object, &mut sim);
    let outcome = Outcome { stopped: ended == Ended::Stopped, lines, locks, ..outcome(&mut sim) };
    Ok((Outcome { profile: profile::read(spec, &object, &mut sim, &outcome), ..outcome }, variables))
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It reached its own end.
    Itself,
    /// A stop was requested before that.
    Stopped,
}

pub(crate) fn go_on(
    sim: &mut Sim<Vm>,
    duration: Span,
    sink: &mut dyn Sink,
    gone: &Cell<bool>,
    stop: &Stop,
    again: &mut dyn FnMut(&mut Sim<Vm>) -> Result<(), LabError>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Ended, LabError> {
    let part = Span::from_ns((duration.as_ns() / REPORTS).max(1));
    let end = Instant::ZERO + duration;
    let mut until = Instant::ZERO;
    while until < end {
        until = (until + part).min(end);
        let mut state = sim.run_until(until, sink);
        while state == State::Detached {
            again(sim)?;
            state = sim.run_until(until, sink);
        }
        if state == State::Ended && (sim.exit().is_some() || sim.failed_program().is_some()) {
            break;
        }
        progress(Progress { now: sim.now(), duration, programs_went_on: sim.counters().programs_went_on });
        if gone.get() {
            break;
        }
        if stop.is_asked() && sim.now() < end {
            return Ok(Ended::Stopped);
        }
    }
    Ok(Ended::Itself)
}

/// Loads the object again as it was read, in a new world, because the scheduler's user-space half restarts.
pub(crate) fn attach_again(
    spec: &RunSpec,
    actions: &[Action],
    object: &Object,
    sim: &mut Sim<Vm>,
) -> Result<(), LabError> {
    let name = &spec.scheduler.name;
    load::again(name, object, sim.engine())?;
    recipe::fill(name, actions, object, sim.engine(), spec.machine.topology.cpus())?;
    let programs = recipe::programs(name, actions, object)?;
    let scheduler =
        load::scheduler(&spec.scheduler, object)?.expect("only a scheduler asks to be loaded again");
    sim.attach_again(&scheduler, programs).map_err(|e| LabError::BadInput(e.to_string()))
}

/// Returns the outcome of a run.
pub(crate) fn outcome(sim: &mut Sim<Vm>) -> Outcome {
    let exit = sim.exit().cloned().unwrap_or(Exit {
        kind: ExitKind::None,
        code: 0,
        message: String::new(),
        cpu: CpuId(0),
        at: Instant::ZERO,
    });
    let end = sim.now();
    let counted = sim.counters();
    let bad_accesses = sim.engine().bad_accesses();
    Outcome {
        exit: exit.kind,
        code: exit.code,
        message: exit.message,
        place: sim.exit_place(),
        end,
        stopped: false,
        counters: Counters {
            switches: counted.switches,
            wakeups: counted.wakeups,
            callbacks: counted.callbacks,
            suspensions: counted.suspensions,
            user_time: counted.user_time,
            scheduler_inserts: counted.scheduler_inserts,
            kernel_inserts: counted.kernel_inserts,
            bad_accesses,
            bypass: counted.bypass_time,
            restarts: sim.restarts(),
            order_points: counted.order_points,
        },
        overhead: Overhead {
            callback: counted.callback_time,
            lock_wait: counted.lock_wait,
            instructions: counted.insns,
        },
        lines: Vec::new(),
        locks: Vec::new(),
        printed: sim.printed().clone(),
        profile: None,
        program: None,
    }
}

/// Returns the outcome if the kernel refused to attach the scheduler, before anything ran.
pub(crate) fn refused(why: String) -> Outcome {
    Outcome {
        exit: ExitKind::Error,
        code: 0,
        message: why,
        place: None,
        end: Instant::ZERO,
        stopped: false,
        counters: Counters::default(),
        overhead: Overhead::default(),
        lines: Vec::new(),
        locks: Vec::new(),
        printed: keel_kernel::Log::default(),
        profile: None,
        program: None,
    }
}
