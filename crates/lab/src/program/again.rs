//! Handles a program's requests to the running machine other than map accesses: to load more programs or another
//! object, to attach and to detach.
//!
//! If a scheduler exits with a code that requests a restart (`SCX_ECODE_ACT_RESTART`), its program opens its object
//! again and reloads it. Until that is attached, the kernel schedules the tasks.

use super::begin::{addresses, extend, set_up_maps};
use super::failed;
use super::half::Half;
use crate::error::LabError;
use crate::load;
use keel_abi::Span;
use keel_abi::bpf::Entry;
use keel_kernel::{Sim, State};
use keel_object::Object;
use keel_program::{Event, Loaded};
use keel_trace::NullSink;
use keel_vm::Vm;
use std::cell::RefCell;

/// How long the end of a run is delayed for a scheduler that is being reloaded.
const MOST_WAIT: Span = Span::from_ms(5_000);
/// How often to check.
const LOOK: Span = Span::from_ms(10);

/// If the run is over while the program is about to reload its scheduler, continues the machine, without emitting
/// events, until the scheduler is attached, so that the program ends like any other. Returns whether the scheduler is
/// attached again.
pub(super) fn wait(
    name: &str,
    half: &RefCell<Half>,
    sim: &mut Sim<Vm>,
    object: &mut Object,
) -> Result<bool, LabError> {
    let end = sim.now() + MOST_WAIT;
    while (sim.is_between() || !half.borrow().is_attached) && sim.now() < end {
        let until = (sim.now() + LOOK).min(end);
        let mut state = sim.run_until(until, &mut NullSink);
        while state == State::Detached {
            answer(name, &mut half.borrow_mut(), sim, object)?;
            state = sim.run_until(until, &mut NullSink);
        }
        if state == State::Ended || sim.now() < until {
            break;
        }
    }
    Ok(sim.exit().is_none())
}

/// Fulfils the program's request, so that the run can continue.
pub(super) fn answer(
    name: &str,
    half: &mut Half,
    sim: &mut Sim<Vm>,
    object: &mut Object,
) -> Result<(), LabError> {
    sim.answered();
    match half.asked.take() {
        Some(Event::Load(loaded, then)) => {
            *object = match loaded.goes_on {
                true => extend(name, half, sim, object, *loaded)?,
                false if sim.is_between() => replace(name, half, sim, *loaded)?,
                false => {
                    return Err(LabError::Unsupported(format!(
                        "{name}: it loads another object in place of one that is attached, which keel does not simulate"
                    )));
                }
            };
            half.next = Some(*then);
            Ok(())
        }
        Some(Event::Trace(traced)) => {
            let is_attached = sim.trace(&traced.place, Entry(traced.program));
            half.program.traced(traced, is_attached).map_err(|e| failed(name, &e))
        }
        Some(Event::Untrace(traced)) => {
            sim.untrace(&traced.place, Entry(traced.program));
            Ok(())
        }
        Some(Event::Detach) if sim.exit().is_none() => Err(LabError::Program(format!(
            "{name}: {}",
            half.last("it detached its scheduler before the run's end")
        ))),
        Some(Event::Attach(ops)) => {
            object.struct_ops = vec![*ops];
            let scheduler = load::defined(name, object)?;
            sim.attach_now(&scheduler)
                .map_err(|e| LabError::Program(format!("{name}: it attaches its scheduler again: {e}")))
        }
        _ => Ok(()),
    }
}

/// Replaces the loaded object by another.
fn replace(name: &str, half: &mut Half, sim: &mut Sim<Vm>, loaded: Loaded) -> Result<Object, LabError> {
    let Loaded { object, fills, shared, touched, .. } = loaded;
    let code = load::code(name, &object)?;
    half.addresses = addresses(&code, &object);
    load::replace(name, code, &object, sim.engine())?;
    set_up_maps(name, &object, sim.engine(), &fills, &shared, &touched)?;
    Ok(object)
}
