//! A run whose scheduler is asked on the way how often each CPU has done something, by a counter of its own.
//!
//! A counter is a global array with an element for each of 1024 CPUs, of any size: the first eight bytes of each
//! count. The object is the one that any kernel loads, and is not told that somebody looks.

use crate::error::LabError;
use crate::load;
use crate::outcome::Outcome;
use crate::run;
use crate::spec::RunSpec;
use keel_abi::bpf::MapId;
use keel_abi::{Instant, Span};
use keel_object::{Object, Variable};
use keel_trace::Sink;
use keel_vm::memory::VmWorld;

/// As many as `schedulers/include/slots.h` has.
const MAX_CPUS: u32 = 1024;

/// Listens to a run and to its scheduler's counter.
pub trait Counted: Sink {
    /// What the counter says for each CPU of the machine, once all events up to this moment have been told.
    /// The run is over where this is false.
    fn counts(&mut self, counts: &[u64]) -> bool;
}

/// Does the scheduler have a global variable of this name?
pub fn declares(spec: &RunSpec, name: &str) -> Result<bool, LabError> {
    let object = load::object(spec, &[])?;
    Ok(object.variables.iter().any(|variable| variable.name == name))
}

/// As [`run`](crate::run()), for at most the spec's duration. After `from` the counter is told every `step`.
pub fn run_counted(
    spec: &RunSpec,
    counter: &str,
    from: Instant,
    step: Span,
    sink: &mut dyn Counted,
) -> Result<Outcome, LabError> {
    assert!(step > Span::ZERO, "a run goes on in steps");
    let (mut sim, object, actions) = match run::begin(spec, sink.wants())? {
        run::Begun::Running(sim, object, actions) => (*sim, object, actions),
        run::Begun::Refused(outcome) => return Ok(outcome),
    };
    let variable = find(&object, counter);
    let variable = variable.ok_or_else(|| LabError::BadInput(format!("no counter is called '{counter}'")))?;
    let mut counts = vec![0; spec.machine.topology.cpus() as usize];
    let end = Instant::ZERO + spec.duration;
    let mut until = from.min(end);
    loop {
        let mut state = sim.run_until(until, sink);
        while state == keel_kernel::State::Detached {
            run::attach_again(spec, &actions, &object, &mut sim)?;
            state = sim.run_until(until, sink);
        }
        read(variable, sim.engine().world_ref(), &mut counts);
        let over =
            state == keel_kernel::State::Ended && (sim.exit().is_some() || sim.failed_program().is_some());
        if !sink.counts(&counts) || over || until >= end {
            break;
        }
        until = (until + step).min(end);
    }
    sim.finish(sink);
    if let Some(failure) = sim.failed_program() {
        return Err(run::program_failed(spec, failure));
    }
    Ok(run::outcome(&mut sim))
}

fn find<'o>(object: &'o Object, name: &str) -> Option<&'o Variable> {
    let fits = |variable: &&Variable| variable.name == name && stride(variable) >= 8;
    object.variables.iter().find(fits)
}

/// Bytes from one CPU's element to the next's.
fn stride(variable: &Variable) -> u32 {
    variable.size / MAX_CPUS
}

fn read(variable: &Variable, world: &VmWorld, counts: &mut [u64]) {
    for (cpu, count) in (0..MAX_CPUS).zip(counts) {
        let offset = variable.offset + cpu * stride(variable);
        let bytes = world.read_variable(MapId(variable.map), offset, 8);
        *count = bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    }
}
