//! Converts recordings to workloads, for `keel replay`, `keel workload from` and `--workload TRACE`.

use crate::caller::Caller;
use crate::failure::Failure;
use crate::inputs;
use crate::inputs::DEFAULT_SEED;
use crate::lab::Lab;
use crate::recording::Source;
use crate::text::shown;
use keel_abi::task::Workload;
use keel_abi::{Noise, Topology};
use keel_lab::{Engine, Machine, RunSpec, SchedulerSource};
use keel_readers::LOOK;
use keel_replay::{Builder, Named, Overheads, Replay, fit, scaled, stuck};
use std::io::{Cursor, Read};
use std::path::Path;

/// Why a stop leaves no workload: one made of a part of the recording would look like one of all of it.
const UNREAD: &str = "before the recording was read";

/// Which tasks of a recording are requested, and how many copies of them.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only tasks with these names or pids; all tasks if empty.
    pub keep: Vec<String>,
    /// The number of copies of each.
    pub scale: u32,
}

/// Which tasks of a recording are requested, how many copies of them, and on which machine.
#[derive(Clone, Debug)]
pub struct Part {
    /// A built-in name, a number of CPUs, or a file; if absent, the recording's shape.
    pub machine: Option<String>,
    /// A machine with this many CPUs, if `machine` is absent.
    pub cpus: Option<u32>,
    /// Only tasks with these names or pids; all tasks if empty.
    pub keep: Vec<String>,
    /// The number of copies of each task.
    pub scale: u32,
}

/// Returns the recording as a workload, on the requested machine.
pub fn recorded(
    part: &Part,
    trace: &Path,
    lab: &Lab,
    caller: &dyn Caller,
) -> Result<(Replay, Machine), Failure> {
    let machine = match (&part.machine, part.cpus) {
        (Some(name), _) => Some(inputs::machine(lab, name)?),
        (None, Some(cpus)) => Some((lab.machine_of_cpus)(cpus)),
        (None, None) => None,
    };
    let wanted = Wanted { keep: part.keep.clone(), scale: part.scale };
    read(lab, trace, machine.as_ref(), &wanted, caller)
}

/// Returns the spec of a replay under this scheduler, as long as the recording. A recording of a real machine contains
/// its noise. The noise of a simulated machine is generated again from its seed.
pub fn spec(
    scheduler: SchedulerSource,
    settings: Vec<(String, String)>,
    replay: &Replay,
    machine: Machine,
) -> RunSpec {
    let (seed, noise) = replay.chance.unwrap_or((DEFAULT_SEED, Noise::None));
    RunSpec {
        scheduler,
        settings,
        workload: replay.workload.clone(),
        machine,
        duration: replay.duration,
        seed,
        noise,
        engine: Engine::Native,
        order: None,
        checked: false,
    }
}

/// Returns whether the file is a recording, not a workload's text. JSON is never a recording.
pub fn is_recording(path: &Path) -> bool {
    // A workload is never a folder. The folder's files are checked when it is opened.
    if path.join("data").is_file() {
        return true;
    }
    let mut first = Vec::new();
    let read = crate::pipe::open(path).and_then(|file| file.take(LOOK as u64).read_to_end(&mut first));
    let is_json =
        first.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| b"{/".contains(byte));
    read.is_ok() && !is_json && keel_readers::kind(&mut Cursor::new(&first)).is_ok()
}

/// Returns the workload from a recording, and its machine: `machine`, or the one it was recorded on.
pub fn read(
    lab: &Lab,
    path: &Path,
    machine: Option<&Machine>,
    wanted: &Wanted,
    caller: &dyn Caller,
) -> Result<(Replay, Machine), Failure> {
    let source = Source::open(path).map_err(|failure| exchanged(path, failure))?;
    let kept = match wanted.keep.is_empty() {
        true => None,
        false => {
            let mut named = Named::new(wanted.keep.iter().cloned());
            source.read(&mut named, caller)?.whole(caller, UNREAD)?;
            Some(named.found())
        }
    };
    let overheads = machine.map_or_else(|| overheads_of(&(lab.machine_of_cpus)(1)), overheads_of);
    let mut builder = Builder::new(overheads, kept);
    let reading = source.read(&mut builder, caller)?.whole(caller, UNREAD)?;
    let bad = |why: String| Failure::input(format!("{}: {why}", shown(&path.to_string_lossy())));
    let mut replay = builder.finish().map_err(|e| bad(e.to_string()))?;
    let lost = &mut replay.confidence.causes.lost;
    *lost = reading.recording.lost.max(*lost);
    replay.confidence.incomplete = reading.recording.doubts.into_iter().next();
    replay.workload = scaled(replay.workload, wanted.scale.max(1));
    let machine = machine.cloned().unwrap_or_else(|| as_recorded(lab, &replay.topology));
    fit(&mut replay.workload, machine.topology.cpus());
    if let Some(stuck) = stuck(&replay.workload) {
        let (waits, by) = stuck.tasks.first().cloned().unwrap_or_default();
        let by = by.map_or(String::new(), |by| format!(" for {}", shown(&by)));
        return Err(bad(format!(
            "{} tasks wait for each other in a cycle, such as {}{by}; leave some of them out with --keep",
            stuck.count,
            shown(&waits)
        )));
    }
    Ok((replay, machine))
}

/// Adds advice to a failure if the file is a workload's, not a recording.
fn exchanged(path: &Path, failure: Failure) -> Failure {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    match is_json && path.is_file() {
        true => failure.help("a workload's file is run by keel sim SCHED --workload FILE"),
        false => failure,
    }
}

/// Returns the overheads that the recording's CPU time includes and that a replay is charged for again.
fn overheads_of(machine: &Machine) -> Overheads {
    use keel_abi::Span;
    let costs = &machine.costs;
    Overheads {
        stint: Span::from_ns(costs.schedule_ns + costs.context_switch_ns),
        fork: Span::from_ns(costs.fork_process_ns),
        exit: Span::from_ns(costs.exit_ns),
        stint_to_idle: Span::from_ns(costs.schedule_to_idle() + costs.context_switch_ns),
        wakeup: Span::from_ns(costs.wakeup_ns),
        timer: Span::from_ns(costs.irq_ns + costs.wakeup_ns),
        tick: Span::from_ns(costs.tick_ns),
        tick_period: Span::from_ns(1_000_000_000 / u64::from(machine.hz.max(1))),
        smt_shared_per_mille: costs.smt_shared_per_mille,
        takes_turns: costs.turn_ns > 0,
    }
}

/// Returns a machine with this shape and the costs of a modern server.
fn as_recorded(lab: &Lab, topology: &Topology) -> Machine {
    let machine = (lab.machine_of_cpus)(topology.cpus());
    match machine.topology == *topology {
        true => machine,
        false => Machine { name: "as recorded".to_owned(), topology: topology.clone(), ..machine },
    }
}

/// Returns the workload from a recording that was given as a workload. Remarks about it go to `caller`.
pub fn workload(
    lab: &Lab,
    given: &str,
    machine: Option<&Machine>,
    caller: &dyn Caller,
) -> Result<(Workload, Machine), Failure> {
    let (replay, machine) = read(lab, Path::new(given), machine, &Wanted::default(), caller)?;
    for sentence in replay.confidence.sentences() {
        caller.note(&format!("{}: {sentence}", shown(given)));
    }
    Ok((replay.workload, machine))
}

/// Returns the machine and workload of a scene. If the scene names no machine, it is the recording's or `otherwise`.
pub fn machine_and_workload(
    lab: &Lab,
    machine: Option<&str>,
    given: &str,
    otherwise: &str,
    caller: &dyn Caller,
) -> Result<(Machine, Workload), Failure> {
    if is_recording(Path::new(given)) {
        let machine = machine.map(|name| inputs::machine(lab, name)).transpose()?;
        return workload(lab, given, machine.as_ref(), caller).map(|(workload, machine)| (machine, workload));
    }
    let machine = inputs::machine(lab, machine.unwrap_or(otherwise))?;
    let workload = inputs::workload(lab, given, &machine, caller)?;
    Ok((machine, workload))
}
