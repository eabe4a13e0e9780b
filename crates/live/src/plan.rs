//! Applies a recipe's actions and `--set` to an object before it is loaded into the kernel.
//!
//! Variables are set in the outline, by the same rules as in simulated runs. Then libbpf gets the complete data
//! sections.

use crate::errors::LiveError;
use crate::host::Host;
use crate::{maps, ready};
use keel_object::Outline;
use keel_object::btf::TypeId;
use keel_recipe::{Action, Value};
use libbpf_rs::{Object, OpenObject, ProgramInput};

/// Bits of `.flags` and members to set, by name.
type Members = Vec<(&'static str, u64)>;

/// Sets variables: the kernel's constants, then the recipe's, then `--set`.
pub(crate) fn variables(
    outline: &mut Outline,
    host: &Host,
    actions: &[Action],
    settings: &[(String, String)],
) -> Result<(), LiveError> {
    outline.fill_constants(|| ready::kernel_types(host));
    for action in actions {
        let (variable, done) = match action {
            Action::Set { variable, value: Value::One(number) } => {
                (variable, outline.object.set_number(variable, *number))
            }
            Action::Set { variable, value: Value::List(numbers) } => {
                (variable, outline.object.set_list(variable, numbers))
            }
            Action::SetPart { variable, at, bytes } => {
                (variable, outline.object.set_bytes(variable, *at, bytes))
            }
            _ => continue,
        };
        done.map_err(|error| LiveError::Set { place: format!("the recipe's set.{variable}"), error })?;
    }
    for action in actions {
        let Action::Count { variable } = action else { continue };
        let number = outline.object.variable(variable).filter(|found| found.signed.is_some());
        number.ok_or_else(|| LiveError::Unknown { what: "counter", name: variable.clone() })?;
    }
    for (variable, value) in settings {
        let done = outline.object.set_variable(variable, value);
        done.map_err(|error| LiveError::Set { place: format!("--set {variable}={value}"), error })?;
    }
    Ok(())
}

/// Passes the modified data sections to libbpf.
pub(crate) fn data(outline: &Outline, open: &mut OpenObject) -> Result<(), LiveError> {
    for section in outline.object.maps.iter().filter(|map| !map.initial.is_empty()) {
        let Some(mut map) = maps::open_map(open, &section.name) else { continue };
        // A resized array is alone in its section.
        if map.initial_value_mut().is_some_and(|bytes| bytes.len() < section.initial.len()) {
            let grown = map.set_value_size(section.initial.len() as u32);
            grown.map_err(|e| LiveError::Element { map: section.name.clone(), why: e.to_string() })?;
        }
        let Some(bytes) = map.initial_value_mut() else { continue };
        if bytes.len() < section.initial.len() {
            return Err(LiveError::Refused(format!("{} is smaller than the object says", section.name)));
        }
        bytes[..section.initial.len()].copy_from_slice(&section.initial);
    }
    Ok(())
}

/// Sets members of the scheduler's `struct sched_ext_ops`, which libbpf stores in the object's layout.
pub(crate) fn members(
    outline: &Outline,
    (scheduler, ty): (&str, TypeId),
    host: &Host,
    actions: &[Action],
    open: &mut OpenObject,
) -> Result<(), LiveError> {
    let mut wanted: Members = host.hotplug_seq().map(|seq| ("hotplug_seq", seq)).into_iter().collect();
    wanted.extend(actions.iter().filter_map(|action| match action {
        Action::AddFlags(bits) => Some(("flags", *bits)),
        Action::SetMember { member, value } => Some((*member, *value)),
        _ => None,
    }));
    let missing = |what, name: &str| LiveError::Unknown { what, name: name.to_owned() };
    let mut map = maps::open_map(open, scheduler).ok_or_else(|| missing("map", scheduler))?;
    let Some(bytes) = map.initial_value_mut() else { return Err(missing("map", scheduler)) };
    for (member, value) in wanted {
        let field = outline.btf.field_of(ty, member);
        let place = field.and_then(|f| bytes.get_mut(f.offset as usize..)?.get_mut(..f.size as usize));
        match place {
            Some(place) if place.len() <= 8 => write(place, value, member == "flags"),
            // Objects that were built without it do not wait for CPUs.
            _ if member == "hotplug_seq" => {}
            _ => return Err(missing("ops member", member)),
        }
    }
    Ok(())
}

/// Sets an integer, or adds bits to it.
fn write(place: &mut [u8], value: u64, add: bool) {
    for (byte, new) in place.iter_mut().zip(value.to_le_bytes()) {
        *byte = if add { *byte | new } else { new };
    }
}

/// Sets the sizes of maps.
pub(crate) fn sizes(actions: &[Action], open: &mut OpenObject) -> Result<(), LiveError> {
    for action in actions {
        let Action::Resize { map: name, entries } = action else { continue };
        let unknown = || LiveError::Unknown { what: "map", name: name.clone() };
        let mut map = maps::open_map(open, name).ok_or_else(unknown)?;
        let set = map.set_max_entries(*entries);
        set.map_err(|e| LiveError::Element { map: name.clone(), why: e.to_string() })?;
    }
    Ok(())
}

/// Loads only what is used: callbacks, `SEC("syscall")` programs, and what the recipe attaches. Other programs are
/// probes or tracers for a user-space half that does not exist here.
pub(crate) fn programs(
    outline: &Outline,
    actions: &[Action],
    open: &mut OpenObject,
) -> Result<(), LiveError> {
    for action in actions {
        let (what, name, kind) = match action {
            Action::Run { program, .. } | Action::RunEvery { program, .. } => {
                ("syscall program", program, Some("syscall"))
            }
            Action::Attach { program } | Action::LeaveOut { program } => ("program", program, None),
            _ => continue,
        };
        let found = outline.program(name).filter(|found| kind.is_none_or(|kind| found.section == kind));
        found.ok_or_else(|| LiveError::Unknown { what, name: name.clone() })?;
    }
    let attached =
        |name: &str| actions.iter().any(|a| matches!(a, Action::Attach { program } if program == name));
    let left_out =
        |name: &str| actions.iter().any(|a| matches!(a, Action::LeaveOut { program } if program == name));
    for mut program in open.progs_mut() {
        let (name, section) = (program.name().to_string_lossy(), program.section().to_string_lossy());
        let used = section.starts_with("struct_ops") || section == "syscall" || attached(&name);
        if !used || left_out(&name) {
            program.set_autoload(false);
        }
    }
    Ok(())
}

/// Fills maps and runs programs once, in the recipe's order.
pub(crate) fn before_attaching(
    outline: &Outline,
    actions: &[Action],
    object: &Object,
) -> Result<(), LiveError> {
    for action in actions {
        match action {
            Action::Put { map, key, value, cpu } => maps::put(object, map, (key, value), *cpu)?,
            Action::Nest { map, maps: number } => maps::nest(object, outline, map, *number)?,
            Action::Run { program, args } => run(object, program, args)?,
            _ => {}
        }
    }
    Ok(())
}

/// Runs a `SEC("syscall")` program, which must return 0.
pub(crate) fn run(object: &Object, name: &str, args: &[u64]) -> Result<(), LiveError> {
    let failed = |why: String| LiveError::Program { program: name.to_owned(), why };
    let program = object.progs_mut().find(|program| program.name() == name);
    let program = program.ok_or_else(|| failed("it is not loaded".to_owned()))?;
    let mut context: Vec<u8> = args.iter().flat_map(|arg| arg.to_ne_bytes()).collect();
    let context_in = (!context.is_empty()).then_some(context.as_mut_slice());
    let output = program.test_run(ProgramInput { context_in, ..ProgramInput::default() });
    match output.map_err(|e| failed(e.to_string()))?.return_value {
        0 => Ok(()),
        value => Err(failed(format!("it returned {}", value as i32))),
    }
}
