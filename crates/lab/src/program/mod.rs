//! Runs a scheduler's own user-space program alongside the simulated kernel.
//!
//! The program runs alone until it attaches its scheduler; the run begins with whatever it has loaded by then. From
//! then on it is a task on the machine, a companion, and makes its next system call whenever that task runs. When the
//! run is over, the program gets SIGINT and runs alone until it exits.
//!
//! - `again`: its requests to a running machine
//! - `begin`: until it attaches its scheduler
//! - `half`: the program as a task
//! - `end`: from SIGINT on
//! - `record`: its setup, as a recipe
//! - `maps`: the loaded object's maps, as the program sees them

mod again;
mod begin;
mod end;
mod half;
mod maps;
mod record;

use crate::error::LabError;
use crate::lines;
use crate::load;
use crate::outcome::Outcome;
use crate::profile;
use crate::run::{self, Ended, Progress};
use crate::spec::{RunSpec, SchedulerSource};
use begin::Began;
use half::Half;
use keel_abi::Stop;
use keel_abi::scx::ExitKind;
use keel_kernel::{KERNEL_BTF, SCHED_CLASSES, Sim, companion_pid};
use keel_program::{Machine, Program, ProgramError};
use keel_trace::{Class, Sink};
use keel_vm::Vm;
use record::Record;
use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::rc::Rc;

/// The maximum number of system calls before a program attaches a scheduler, and after the run's end.
const MOST_CALLS: u64 = 2_000_000;
/// The maximum number of characters of a program's last output that are quoted.
const MOST_WORDS: usize = 400;
/// The maximum number of lines that are quoted.
const MOST_LINES: usize = 4;

/// Returns a recipe that does what a program does before it attaches its scheduler, for the object in these bytes.
/// `spec` has the program, and the machine that it sees.
///
/// # Errors
/// The object cannot be read, or the program attaches no scheduler.
pub fn recorded_recipe(spec: &RunSpec, object: &[u8]) -> Result<String, LabError> {
    let name = &spec.scheduler.name;
    let Some(argv) = spec.scheduler.bytes.program() else {
        return Err(LabError::BadInput(format!("{name} is not a program")));
    };
    let scheduler = SchedulerSource { bytes: object.into(), ..spec.scheduler.clone() };
    let object = load::object(&RunSpec { scheduler, ..spec.clone() }, &[])?;
    let half = started(spec, argv)?;
    let mut record = Record::default();
    begin::begin(spec, &half, Class::NONE, Some(&mut record))?;
    Ok(record.recipe(&object))
}

/// Runs a spec with a program.
pub(crate) fn make(
    spec: &RunSpec,
    argv: &[OsString],
    sink: &mut dyn Sink,
    gone: &Cell<bool>,
    progress: &mut dyn FnMut(Progress),
    stop: &Stop,
) -> Result<Outcome, LabError> {
    if !spec.settings.is_empty() {
        let name = &spec.scheduler.name;
        return Err(LabError::BadInput(format!("--set: {name} is a program; give it arguments instead")));
    }
    let half = started(spec, argv)?;
    make_with(spec, &half, sink, gone, progress, stop).map_err(|error| {
        let half = &mut *half.borrow_mut();
        half.output.append(&mut half.program.take_output());
        LabError::AfterOutput { error: Box::new(error), output: std::mem::take(&mut half.output) }
    })
}

fn make_with(
    spec: &RunSpec,
    half: &Rc<RefCell<Half>>,
    sink: &mut dyn Sink,
    gone: &Cell<bool>,
    progress: &mut dyn FnMut(Progress),
    stop: &Stop,
) -> Result<Outcome, LabError> {
    let name = spec.scheduler.name.clone();
    let (mut sim, mut object) = match begin::begin(spec, half, sink.wants(), None)? {
        Began::Running(sim, object) => (*sim, *object),
        Began::Refused(why) => {
            let end = end::finish(half, None).map_err(|e| failed(&name, &e))?;
            return Ok(Outcome { program: Some(end), ..run::refused(why) });
        }
    };
    if let Some(span) = spec.scheduler.bytes.stats() {
        half.borrow_mut().program.ask_every(span.as_ns());
    }
    if let Some(clients) = spec.scheduler.bytes.clients() {
        half.borrow_mut().program.admit(clients.clone());
    }
    sim.stop_when_asked(stop.clone());
    sim.restart_by_program();
    let again = &mut |sim: &mut Sim<Vm>| again::answer(&name, &mut half.borrow_mut(), sim, &mut object);
    let ended = run::go_on(&mut sim, spec.duration, sink, gone, stop, again, progress)?;
    sim.finish(sink);
    if let Some(failure) = sim.failed_program() {
        return Err(run::program_failed(spec, failure));
    }
    let lines = lines::read(&object, &mut sim);
    let mut outcome = run::outcome(&mut sim);
    let profile = profile::read(spec, &object, &mut sim, &outcome);
    if sim.is_between() && again::wait(&name, half, &mut sim, &mut object)? {
        // The scheduler did not exit for good.
        outcome = Outcome { exit: ExitKind::None, code: 0, message: String::new(), place: None, ..outcome };
    }
    let end = end::finish(half, Some(&mut sim)).map_err(|e| failed(&name, &e))?;
    Ok(Outcome { stopped: ended == Ended::Stopped, lines, profile, program: Some(end), ..outcome })
}

/// Starts the program, and stops it before its first instruction.
fn started(spec: &RunSpec, argv: &[OsString]) -> Result<Rc<RefCell<Half>>, LabError> {
    let program = Program::start(argv, machine_of(spec)).map_err(|e| failed(&spec.scheduler.name, &e))?;
    Ok(Rc::new(RefCell::new(Half::new(program, spec.machine.costs.program_call_ns))))
}

fn machine_of(spec: &RunSpec) -> Machine {
    Machine {
        topology: spec.machine.topology.clone(),
        capacity: spec.machine.capacity.clone(),
        btf: KERNEL_BTF,
        symbols: &SCHED_CLASSES,
        config: load::kernel_config(spec),
        cgroups: spec.workload.cgroups.clone(),
        tick_ns: 1_000_000_000 / u64::from(spec.machine.hz),
        seed: spec.seed,
        call_ns: spec.machine.costs.program_call_ns,
        pid: companion_pid(0).0 as i32,
    }
}

fn failed(name: &str, error: &ProgramError) -> LabError {
    let text = format!("{name}: {error}");
    match error {
        ProgramError::Unsupported(_) => LabError::Unsupported(text),
        ProgramError::Start { .. } | ProgramError::Host(_) => LabError::BadInput(text),
    }
}

/// Returns the last lines of a program's output as one line, without empty lines and colours. Untrusted text.
pub fn last_words(output: &[u8]) -> String {
    let end = String::from_utf8_lossy(&output[output.len().saturating_sub(MOST_WORDS)..]);
    let plain = without_colours(&end);
    let lines: Vec<&str> = plain.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(MOST_LINES)..].join(" | ")
}

/// Removes terminals' control sequences (`ESC [ ... letter`).
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn last_words_are_one_line() {
        let check = |output: &str, expected: &str| assert_eq!(last_words(output.as_bytes()), expected);
        check("", "");
        check("\n\nError: no\n\nCaused by:\n    a fault\n", "Error: no | Caused by: | a fault");
        check("1\n2\n3\n4\n5\n6\n", "3 | 4 | 5 | 6");
        check("\u{1b}[2m12:00\u{1b}[0m \u{1b}[1;32mINFO\u{1b}[0m done\u{1b}[", "12:00 INFO done");
    }
}
