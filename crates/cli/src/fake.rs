//! A fake `lab` crate without a simulator: the scheduler's name determines how a run ends, and runs emit a few events.

use crate::lab::{Lab, REAL};
use keel_abi::scx::ExitKind;
use keel_abi::task::Workload;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Stop, TaskId};
use keel_lab::{
    Counters, LabError, Log, LogLine, Machine, Outcome, Overhead, Progress, RunSpec, SchedulerSource,
};
use keel_trace::{Event, Meta, Sink, TaskInfo, What, Why};

/// The built-in schedulers are `good`, `wasteful`, `fails`, `refused`, `unsupported`, `buggy`; there is one workload.
pub(crate) const FAKE: Lab = Lab {
    schedulers: || ["good", "fails"].map(|name| (name.to_owned(), String::new())).into(),
    scheduler: |name| NAMES.contains(&name).then(|| source(name)),
    workload: |name| (name == keel_lab::workloads::DEFAULT).then_some("{}"),
    read_workload,
    run,
    run_to_end: run,
    experiments,
    ..REAL
};

fn source(name: &str) -> SchedulerSource {
    let bytes = b"object".as_slice().into();
    SchedulerSource { name: name.to_owned(), bytes, recipe: keel_recipe::Recipe::default() }
}

const NAMES: &[&str] = &["good", "wasteful", "fails", "refused", "unsupported", "buggy"];

/// Returns three experiments: `sound` compares a scheduler with itself, `broken` has a scheduler that fails, and `torn`
/// one that aborts.
fn experiments() -> Vec<keel_experiment::Experiment> {
    let experiment = |id: &str, new: &str| {
        let text = format!(
            "id = '{id}'\ntitle = 'a test'\nsource = 'here'\nmodelled = 'nothing'\nmachine = '2'\n\
             workload = 'mix'\nduration_ms = 100\n[[arm]]\nlabel = 'old'\nscheduler = 'good'\n[[arm]]\n\
             label = 'new'\nscheduler = '{new}'\n[[claim]]\nsays = 'as good'\nmeasure = 'switches_per_s'\n\
             of = 'new'\nto = 'old'\npublished = {{ ratio = 1 }}\nband = {{ within = 0.1 }}\n"
        );
        keel_experiment::read(id, &text).expect("it is right")
    };
    let pairs = [("broken", "fails"), ("missing", "nobody"), ("sound", "good"), ("torn", "buggy")];
    pairs.map(|(id, new)| experiment(id, new)).into()
}

fn read_workload(name: &str, text: &str, _: &Machine) -> Result<(Workload, Vec<String>), LabError> {
    match text.starts_with('{') {
        true => Ok((Workload { name: name.into(), ..Workload::default() }, Vec::new())),
        false => Err(LabError::BadInput(format!("{name}:1: this is not JSON"))),
    }
}

fn run(
    spec: &RunSpec,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Progress),
    _: &Stop,
) -> Result<Outcome, LabError> {
    let name = spec.scheduler.name.trim_end_matches(|c: char| c == '#' || c.is_ascii_digit());
    match name {
        "unsupported" => return Err(LabError::Unsupported("kfunc scx_bpf_nothing is not supported".into())),
        "buggy" => return Err(LabError::Bug("a tick came twice".into())),
        "refused" => return Ok(outcome(spec, ExitKind::Error, "SCX_OPS_ENQ_LAST requires ops.enqueue()")),
        _ => {}
    }
    emit(spec, sink, name == "wasteful");
    progress(Progress { now: Instant::ZERO + spec.duration, duration: spec.duration, programs_went_on: 0 });
    match name {
        "fails" => Ok(outcome(spec, ExitKind::ErrorStall, "worker[1] failed to run for 30.000s")),
        _ => Ok(outcome(spec, ExitKind::None, "")),
    }
}

/// Emits one task that wakes at the start, and runs at once or halfway through the run.
fn emit(spec: &RunSpec, sink: &mut dyn Sink, late: bool) {
    let (cpu, task) = (CpuId(0), TaskId(0));
    let start = Instant::ZERO;
    let end = start + spec.duration;
    let runs = if late { Instant::from_ns(spec.duration.as_ns() / 2) } else { start };
    sink.meta(
        start,
        &Meta::Start {
            topology: spec.machine.topology.clone(),
            scheduler: spec.scheduler.name.clone(),
            workload: spec.workload.name.clone(),
            unit: spec.workload.unit.clone(),
        },
    );
    let info = TaskInfo { task, pid: Pid(1), name: "worker".into(), nice: 0, cpus: CpuSet::first(1) };
    sink.meta(start, &Meta::Task(info));
    sink.events(&[
        Event { at: start, cpu, what: What::Wakeup { task, target: cpu, waker: TaskId::IDLE } },
        Event { at: runs, cpu, what: What::Switch { prev: TaskId::IDLE, why: Why::WasIdle, next: task } },
        Event { at: end, cpu, what: What::Switch { prev: task, why: Why::Blocked, next: TaskId::IDLE } },
    ]);
    sink.meta(end, &Meta::End);
}

fn outcome(spec: &RunSpec, exit: ExitKind, message: &str) -> Outcome {
    Outcome {
        code: 0,
        exit,
        message: message.into(),
        place: None,
        end: Instant::ZERO + spec.duration,
        stopped: false,
        counters: Counters::default(),
        overhead: Overhead::default(),
        lines: Vec::new(),
        locks: Vec::new(),
        profile: None,
        program: None,
        printed: printed(),
    }
}

/// Returns a log with one line, and more output than is kept.
fn printed() -> Log {
    let (at, cpu, pid) = (Instant::from_ns(1_000_000_007), CpuId(3), Pid(1));
    let line = LogLine { at, cpu, task: "worker".into(), pid, text: "hello\x1b[2J".into() };
    Log { lines: vec![line], dropped: 4 }
}
