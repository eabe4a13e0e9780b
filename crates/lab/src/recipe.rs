//! Follows a host recipe on the simulated kernel: sets variables, members of the scheduler and sizes of maps before the
//! object is loaded, fills maps after that, and runs `SEC("syscall")` programs in the kernel itself. Tracing programs
//! are rejected with an error that names them.

use crate::error::LabError;
use crate::spec::RunSpec;
use keel_abi::bpf::{Ea, Entry, Errno, MapId, World};
use keel_abi::{CpuId, Span};
use keel_kernel::UserProgram;
use keel_object::{MapDef, Object, SetError};
use keel_recipe::{Action, Companion, Facts, Value};
use keel_vm::Vm;

/// The maximum size of a program's context, in 64-bit words, that the engine supports.
const MOST_ARGS: usize = 64;
/// The size of a page, in bytes: the simulated machines are x86.
const PAGE_BYTES: u64 = 4096;
/// Map types in which each CPU has its own value.
const PER_CPU: &[u32] = &[6, 5, 10];

/// Returns the recipe's actions on this machine.
pub(crate) fn plan(spec: &RunSpec) -> Result<Vec<Action>, LabError> {
    let topology = spec.machine.topology.clone();
    let timeline = spec.machine.timeline.iter().chain(&spec.workload.timeline);
    let online = keel_abi::timeline::online_at_first(topology.cpus(), timeline);
    let facts = Facts { topology, online, page_bytes: PAGE_BYTES };
    spec.scheduler.recipe.plan(&facts).map_err(|e| LabError::BadInput(e.to_string()))
}

/// Applies the actions to the object before it is loaded.
pub(crate) fn prepare(name: &str, actions: &[Action], object: &mut Object) -> Result<(), LabError> {
    let mut companions = 0;
    for action in actions {
        match action {
            Action::Set { variable, value } => set(object, variable, value)
                .map_err(|e| LabError::BadInput(format!("{name}: the recipe's set.{variable}: {e}")))?,
            Action::SetPart { variable, at, bytes } => object
                .set_bytes(variable, *at, bytes)
                .map_err(|e| LabError::BadInput(format!("{name}: the recipe's part of {variable}: {e}")))?,
            Action::LeaveOut { program } => leave_out(name, object, program)?,
            Action::NameQueue { id, name } => name_queue(object, *id, name),
            Action::Choose { scheduler } => choose(name, object, scheduler)?,
            Action::AddFlags(bits) => add_flags(name, object, *bits)?,
            Action::SetMember { member, value } => member_of(name, object, member, *value)?,
            Action::Resize { map, entries } => {
                let id = map_of(name, &object.maps, map)?.0;
                object.maps[id.0 as usize].max_entries = *entries;
            }
            Action::Attach { program } => return Err(absent(name, program)),
            Action::Count { variable } => counted(name, object, variable)?,
            Action::Accompany(companion) => {
                introduce(name, object, companion, companions)?;
                companions += 1;
            }
            Action::Put { .. }
            | Action::Nest { .. }
            | Action::Run { .. }
            | Action::RunEvery { .. }
            | Action::Restart { .. } => {}
        }
    }
    Ok(())
}

fn leave_out(name: &str, object: &mut Object, program: &str) -> Result<(), LabError> {
    let unknown = || {
        LabError::BadInput(format!(
            "{name}: the recipe leaves out program {program}, but the object has no such program outside its scheduler"
        ))
    };
    object.leave_out(program).then_some(()).ok_or_else(unknown)
}

/// Names a DSQ. The name in the recipe takes precedence over the object's.
fn name_queue(object: &mut Object, id: u64, name: &str) {
    object.queues.retain(|(other, _)| *other != id);
    object.queues.push((id, name.to_owned()));
}

/// Writes the pid of its companion to the object.
fn introduce(name: &str, object: &mut Object, companion: &Companion, number: u32) -> Result<(), LabError> {
    let Some(variable) = &companion.pid else { return Ok(()) };
    let pid = keel_kernel::companion_pid(number);
    object
        .set_number(variable, pid.0.into())
        .map_err(|e| LabError::BadInput(format!("{name}: the pid of companion {}: {e}", companion.name)))
}

fn absent(name: &str, program: &str) -> LabError {
    LabError::Unsupported(format!(
        "{name}: the recipe runs the tracing program {program} with the scheduler, but keel does not simulate it"
    ))
}

/// Returns how long after its exit a scheduler is reloaded, if the recipe requests that.
pub(crate) fn restart_after(actions: &[Action]) -> Option<Span> {
    actions.iter().find_map(|action| match action {
        Action::Restart { after } => Some(*after),
        _ => None,
    })
}

/// Returns the `SEC("syscall")` programs that the recipe runs.
pub(crate) fn programs(
    name: &str,
    actions: &[Action],
    object: &Object,
) -> Result<Vec<UserProgram>, LabError> {
    let found = |program: &String, args: &[u64], every: Option<Span>| {
        let fits = |other: &keel_object::Program| other.name == *program && other.section == "syscall";
        let place = object.programs.iter().position(fits).ok_or_else(|| {
            LabError::BadInput(format!(
                "{name}: the recipe names syscall program {program}, which the object does not have"
            ))
        })?;
        if args.len() > MOST_ARGS {
            return Err(LabError::Unsupported(format!(
                "{name}: the recipe gives program {program} {} arguments; simulated ones take {MOST_ARGS}",
                args.len()
            )));
        }
        Ok(UserProgram { name: program.clone(), entry: Entry(place as u32), args: args.to_vec(), every })
    };
    let programs = actions.iter().filter_map(|action| match action {
        Action::Run { program, args } => Some(found(program, args, None)),
        Action::RunEvery { program, args, every } => Some(found(program, args, Some(*every))),
        _ => None,
    });
    programs.collect()
}

fn set(object: &mut Object, variable: &str, value: &Value) -> Result<(), SetError> {
    match value {
        Value::One(number) => object.set_number(variable, *number),
        Value::List(numbers) => object.set_list(variable, numbers),
    }
}

fn counted(name: &str, object: &Object, variable: &str) -> Result<(), LabError> {
    let known = object.variable(variable).is_some_and(|variable| variable.signed.is_some());
    let unknown = || {
        LabError::BadInput(format!(
            "{name}: the recipe counts {variable}, which is not an integer of the object"
        ))
    };
    known.then_some(()).ok_or_else(unknown)
}

/// Removes all schedulers but one from the object.
fn choose(name: &str, object: &mut Object, scheduler: &str) -> Result<(), LabError> {
    let is_it = |ops: &keel_object::StructOps| ops.variable == scheduler && ops.is_scheduler();
    if !object.struct_ops.iter().any(is_it) {
        return Err(LabError::BadInput(format!(
            "{name}: the recipe attaches {scheduler}, which is not a struct sched_ext_ops of the object"
        )));
    }
    object.struct_ops.retain(is_it);
    Ok(())
}

fn add_flags(name: &str, object: &mut Object, bits: u64) -> Result<(), LabError> {
    let ops = object.struct_ops.iter().find(|ops| ops.is_scheduler());
    let flags = ops.map_or(0, |ops| ops.integer("flags"));
    member_of(name, object, "flags", flags | bits)
}

fn member_of(name: &str, object: &mut Object, member: &str, value: u64) -> Result<(), LabError> {
    let ops = object.struct_ops.iter_mut().find(|ops| ops.is_scheduler());
    let ops = ops.ok_or_else(|| LabError::BadInput(format!("{name}: no scheduler in it")))?;
    ops.fields.retain(|(other, _)| other != member);
    ops.fields.push((member.to_owned(), value.to_le_bytes().to_vec()));
    Ok(())
}

fn map_of<'o>(name: &str, maps: &'o [MapDef], map: &str) -> Result<(MapId, &'o MapDef), LabError> {
    let found = maps.iter().enumerate().find(|(_, other)| other.name == map);
    let unknown =
        || LabError::BadInput(format!("{name}: the recipe names map {map}, which the object does not have"));
    found.map(|(at, map)| (MapId(at as u32), map)).ok_or_else(unknown)
}

/// Fills maps. In a per-CPU map every CPU gets the value, unless it is for one CPU.
pub(crate) fn fill(
    name: &str,
    actions: &[Action],
    object: &Object,
    vm: &mut Vm,
    cpus: u32,
) -> Result<(), LabError> {
    for action in actions {
        if let Action::Nest { map, maps } = action {
            nest(name, object, vm, (map, *maps))?;
        }
        let Action::Put { map, key, value, cpu } = action else { continue };
        let (id, def) = map_of(name, &object.maps, map)?;
        let bytes = |what: &Value, part: &str, size: u32| {
            what.bytes(size as usize).ok_or_else(|| {
                LabError::BadInput(format!(
                    "{name}: the recipe's element for map {map} does not fit its {part} of {size} bytes"
                ))
            })
        };
        let key = bytes(key, "key", def.key_size)?;
        let value = bytes(value, "value", def.value_size)?;
        let cpus = match cpu {
            Some(cpu) if !PER_CPU.contains(&def.kind) || *cpu >= cpus => {
                return Err(LabError::BadInput(format!(
                    "{name}: the recipe has an element of map {map} for CPU {cpu}, but the map has none for it"
                )));
            }
            Some(cpu) => *cpu..cpu + 1,
            None if PER_CPU.contains(&def.kind) => 0..cpus,
            None => 0..1,
        };
        for cpu in cpus.map(CpuId) {
            put(vm, id, &key, &value, cpu).ok_or_else(|| {
                LabError::BadInput(format!("{name}: map {map} does not take the recipe's element"))
            })?;
        }
    }
    Ok(())
}

/// Fills a map of maps.
fn nest(name: &str, object: &Object, vm: &mut Vm, (map, maps): (&str, u32)) -> Result<(), LabError> {
    let (outer, _) = map_of(name, &object.maps, map)?;
    let world = keel_abi::bpf::Engine::world(vm);
    for index in 0..maps {
        let (all, region) = world.maps_mut();
        all.add_inner(region, outer, index, 0).map_err(|errno| {
            let why = match errno {
                Errno::EINVAL => "it is not a map of maps",
                Errno::E2BIG => "it has fewer elements",
                _ => "there is no memory left",
            };
            LabError::BadInput(format!(
                "{name}: the recipe's {maps} inner maps of map {map} are not possible: {why}"
            ))
        })?;
    }
    Ok(())
}

fn put(vm: &mut Vm, map: MapId, key: &[u8], value: &[u8], cpu: CpuId) -> Option<()> {
    let world = keel_abi::bpf::Engine::world(vm);
    let mut place = |bytes: &[u8]| -> Option<Ea> {
        let at = world.alloc(bytes.len() as u64)?;
        world.slice_mut(at, bytes.len() as u64)?.copy_from_slice(bytes);
        Some(at)
    };
    let (key, value) = (place(key)?, place(value)?);
    let done = world.map_update(map, key, value, 0, cpu);
    world.free(key);
    world.free(value);
    done.ok()
}
