//! Makes runs that end as soon as the sink has seen enough. Some of them also read one of the scheduler's own counters
//! on the way, which counts how often each CPU has done something.
//!
//! A counter is a global array with an element, of any size, for each of 1024 CPUs. The first eight bytes of each are
//! the count. The object is the same that any kernel loads, and can't detect that it is watched.

use crate::error::LabError;
use crate::load;
use crate::outcome::Outcome;
use crate::run;
use crate::spec::RunSpec;
use keel_abi::bpf::MapId;
use keel_abi::{Instant, Span, Stop};
use keel_object::{Object, Variable};
use keel_trace::Sink;
use keel_vm::memory::VmWorld;

/// The number of elements, as in `schedulers/include/slots.h`.
const MAX_CPUS: u32 = 1024;

/// A sink for a run's events and its scheduler's counter.
pub trait Counted: Sink {
    /// Receives the counter of each CPU of the machine, once all events up to this instant have been emitted. Returns
    /// whether the run continues.
    fn counts(&mut self, counts: &[u64]) -> bool;
}

/// A sink that ends the run once it has seen enough.
pub trait Listener: Sink {
    /// Returns whether to end the run. Called once all events up to a step's end have been emitted.
    fn enough(&self) -> bool;
}

/// Like [`run`](crate::run()), for at most the spec's duration: up to `from`, and then in steps, until the sink has
/// seen enough, or `stop` is set.
pub fn run_until_enough(
    spec: &RunSpec,
    from: Instant,
    step: Span,
    sink: &mut dyn Listener,
    stop: &Stop,
) -> Result<Outcome, LabError> {
    let begun = run::begin(spec, sink.wants())?;
    in_steps(spec, begun, from, step, &mut Watched(sink), stop)
}

/// Returns whether the scheduler has a global variable with this name.
pub fn declares(spec: &RunSpec, name: &str) -> Result<bool, LabError> {
    let object = load::object(spec, &[])?;
    Ok(object.variables.iter().any(|variable| variable.name == name))
}

/// Like [`run`](crate::run()), for at most the spec's duration. After `from` the counter is read every `step`. If
/// `stop` is set, the run ends at the virtual instant that it has reached.
pub fn run_counted(
    spec: &RunSpec,
    counter: &str,
    from: Instant,
    step: Span,
    sink: &mut dyn Counted,
    stop: &Stop,
) -> Result<Outcome, LabError> {
    let begun = run::begin(spec, sink.wants())?;
    let variable = match &begun {
        run::Begun::Running(_, object, _) => find(object, counter).cloned(),
        run::Begun::Refused(outcome) => return Ok(outcome.clone()),
    };
    let variable = variable.ok_or_else(|| LabError::BadInput(format!("no counter is called '{counter}'")))?;
    let counts = vec![0; spec.machine.topology.cpus() as usize];
    in_steps(spec, begun, from, step, &mut Reader { sink, variable, counts }, stop)
}

/// The action at the end of a step.
trait Steps {
    fn sink(&mut self) -> &mut dyn Sink;
    /// Returns whether the run continues.
    fn goes_on(&mut self, world: &VmWorld) -> bool;
}

struct Watched<'s>(&'s mut dyn Listener);

impl Steps for Watched<'_> {
    fn sink(&mut self) -> &mut dyn Sink {
        self.0
    }

    fn goes_on(&mut self, _: &VmWorld) -> bool {
        !self.0.enough()
    }
}

struct Reader<'s> {
    sink: &'s mut dyn Counted,
    variable: Variable,
    counts: Vec<u64>,
}

impl Steps for Reader<'_> {
    fn sink(&mut self) -> &mut dyn Sink {
        self.sink
    }

    fn goes_on(&mut self, world: &VmWorld) -> bool {
        read(&self.variable, world, &mut self.counts);
        self.sink.counts(&self.counts)
    }
}

fn in_steps(
    spec: &RunSpec,
    begun: run::Begun,
    from: Instant,
    step: Span,
    steps: &mut dyn Steps,
    stop: &Stop,
) -> Result<Outcome, LabError> {
    assert!(step > Span::ZERO, "a run advances in steps");
    let (mut sim, object, actions) = match begun {
        run::Begun::Running(sim, object, actions) => (*sim, object, actions),
        run::Begun::Refused(outcome) => return Ok(outcome),
    };
    sim.stop_when_asked(stop.clone());
    let end = Instant::ZERO + spec.duration;
    let mut until = from.min(end);
    let mut stopped;
    loop {
        let mut state = sim.run_until(until, steps.sink());
        while state == keel_kernel::State::Detached {
            run::attach_again(spec, &actions, &object, &mut sim)?;
            state = sim.run_until(until, steps.sink());
        }
        let over =
            state == keel_kernel::State::Ended && (sim.exit().is_some() || sim.failed_program().is_some());
        let goes_on = steps.goes_on(sim.engine().world_ref());
        stopped = stop.is_asked() && sim.now() < end && !over;
        if !goes_on || over || stopped || until >= end {
            break;
        }
        until = (until + step).min(end);
    }
    sim.finish(steps.sink());
    if let Some(failure) = sim.failed_program() {
        return Err(run::program_failed(spec, failure));
    }
    Ok(Outcome { stopped, ..run::outcome(&mut sim) })
}

fn find<'o>(object: &'o Object, name: &str) -> Option<&'o Variable> {
    let fits = |variable: &&Variable| variable.name == name && stride(variable) >= 8;
    object.variables.iter().find(fits)
}

/// Returns the distance in bytes from one CPU's element to the next.
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
