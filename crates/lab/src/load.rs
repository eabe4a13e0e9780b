//! Loads a scheduler's bytes and attaches it to a kernel.

use crate::error::LabError;
use crate::recipe;
use crate::spec::{Engine, RunSpec, SchedulerSource};
use keel_abi::DsqId;
use keel_abi::bpf::{Ea, Entry, FuncId, MapId, World};
use keel_abi::lines::Transfers;
use keel_abi::scx::Op;
use keel_kernel::cost::kfunc::price;
use keel_kernel::{FairSettings, KERNEL_BTF, Scheduler};
use keel_object::{Btf, LoadOptions, Object, ObjectError, StructOps};
use keel_recipe::Action;
use keel_vm::{Code, Import, Known, Linker, LoadError, Mode, Vm, VmConfig};
use std::sync::Arc;

/// The version of the simulated kernel, in the format of `LINUX_KERNEL_VERSION`.
const KERNEL_VERSION: i64 = 7 << 16 | 2 << 8 | 13;

/// The number of maps that a scheduler's program may create for objects that it loads later.
const SPARE_MAPS: u32 = 256;

/// Callbacks of `struct sched_ext_ops` that are accepted because the simulation never calls them.
const NEVER_CALLED: &[&str] =
    &["core_sched_before", "dump", "dump_cpu", "dump_cid", "dump_task", "sub_attach", "sub_detach"];

/// The callbacks of schedulers with child schedulers.
const SUBS: [&str; 2] = ["sub_attach", "sub_detach"];

/// Returns the object, relocated against the simulated kernel's types, with its variables set: the recipe's first.
pub(crate) fn object(spec: &RunSpec, actions: &[Action]) -> Result<Object, LabError> {
    object_for(&kernel_types()?, spec, actions)
}

/// Returns the simulated kernel's types.
pub(crate) fn kernel_types() -> Result<Btf, LabError> {
    Btf::parse(KERNEL_BTF).map_err(|e| LabError::Bug(format!("our own BTF: {e}")))
}

/// Like [`object`], against these types.
pub(crate) fn object_for(types: &Btf, spec: &RunSpec, actions: &[Action]) -> Result<Object, LabError> {
    let name = &spec.scheduler.name;
    let Some(bytes) = spec.scheduler.bytes.get() else { return nothing(spec, actions) };
    let mut object = keel_object::load(bytes, types, &options(spec)).map_err(|e| object_error(name, &e))?;
    recipe::prepare(name, actions, &mut object)?;
    for (variable, value) in &spec.settings {
        object
            .set_variable(variable, value)
            .map_err(|e| LabError::BadInput(format!("{}: {e}", place(name, variable, value))))?;
    }
    Ok(object)
}

/// Returns the settings of the kernel's own scheduler; if another one is loaded, its settings are variables of its
/// object.
pub(crate) fn fair_settings(spec: &RunSpec) -> Result<FairSettings, LabError> {
    let mut fair = FairSettings::default();
    if spec.scheduler.bytes.get().is_some() {
        return Ok(fair);
    }
    for (name, value) in &spec.settings {
        fair.set(name, value).map_err(|e| LabError::BadInput(format!("--set {name}={value}: {e}")))?;
    }
    Ok(fair)
}

/// Returns where this setting was given: in the scheduler's own name, as in `my.bpf.o:kick=1`, or for all schedulers.
fn place(name: &str, variable: &str, value: &str) -> String {
    match name.contains(&format!(":{variable}={value}")) {
        true => name.to_owned(),
        false => format!("--set {variable}={value}"),
    }
}

/// Returns the empty object of a run in which no scheduler is loaded.
fn nothing(spec: &RunSpec, actions: &[Action]) -> Result<Object, LabError> {
    let name = &spec.scheduler.name;
    fair_settings(spec)?;
    match actions.is_empty() {
        true => Ok(Object::default()),
        false => Err(LabError::BadInput(format!(
            "{name} is the kernel's own scheduler and takes no recipe; leave the recipe out"
        ))),
    }
}

/// Returns the part of the kernel's configuration that schedulers read.
fn options(spec: &RunSpec) -> LoadOptions {
    LoadOptions::default()
        .kconfig("LINUX_KERNEL_VERSION", KERNEL_VERSION)
        .kconfig("CONFIG_HZ", i64::from(spec.machine.hz))
        .kconfig("CONFIG_NR_CPUS", 1024)
        .kconfig("CONFIG_PREEMPT_RCU", 1)
        .kconfig("CONFIG_X86_64", 1)
        .kconfig("CONFIG_NO_HZ_IDLE", 1)
        .kconfig("CONFIG_LOCALVERSION", "-keel")
        .kconfig("CONFIG_CC_VERSION_TEXT", "clang")
}

/// Returns the kernel's configuration in the format of a configuration file.
pub(crate) fn kernel_config(spec: &RunSpec) -> String {
    format!(
        "CONFIG_HZ={}\nCONFIG_NR_CPUS=1024\nCONFIG_PREEMPT_RCU=y\nCONFIG_X86_64=y\nCONFIG_NO_HZ_IDLE=y\n\
         CONFIG_LOCALVERSION=\"-keel\"\nCONFIG_CC_VERSION_TEXT=\"clang\"\n",
        spec.machine.hz
    )
}

fn object_error(name: &str, error: &ObjectError) -> LabError {
    let text = format!("{name}: {error}");
    if error.is_unsupported() { LabError::Unsupported(text) } else { LabError::BadInput(text) }
}

/// Returns the scheduler of a spec, given its object, or `None` if there is nothing to load.
pub(crate) fn scheduler(source: &SchedulerSource, object: &Object) -> Result<Option<Scheduler>, LabError> {
    source.bytes.get().map(|_| defined(&source.name, object)).transpose()
}

/// Returns the scheduler that the object defines, with the program of each callback.
pub(crate) fn defined(name: &str, object: &Object) -> Result<Scheduler, LabError> {
    let ops = sched_ext_ops(name, object)?;
    let mut callbacks = Vec::new();
    for (member, program) in &ops.callbacks {
        let op = if ops.speaks_cids() { Op::from_cid_name(member) } else { Op::from_name(member) };
        if let Some(op) = op {
            callbacks.push((op, Entry(*program)));
        } else if !NEVER_CALLED.contains(&member.as_str()) {
            return Err(LabError::Unsupported(format!("{name}: ops.{member}() is not modelled")));
        }
    }
    if ops.integer("sub_cgroup_id") != 0 {
        return Err(LabError::Unsupported(format!(
            "{name}: .sub_cgroup_id makes it a sub-scheduler, which is not modelled"
        )));
    }
    Ok(Scheduler {
        name: ops.name(),
        callbacks,
        flags: ops.integer("flags"),
        timeout_ms: ops.integer("timeout_ms") as u32,
        dispatch_max_batch: ops.integer("dispatch_max_batch") as u32,
        hotplug_seq: ops.integer("hotplug_seq"),
        hints: hints(object),
        decisions: decisions(object),
        queues: object.queues.iter().map(|(id, name)| (DsqId(*id), name.clone())).collect(),
        arenas: ops.speaks_cids().then(|| arenas(object, ops)),
        wants_subs: ops.callbacks.iter().any(|(member, _)| SUBS.contains(&member.as_str())),
        local_types: object.local_types.clone(),
    })
}

/// Returns the task storage map to which real-time hints are written: priority and policy, 32 bits each.
fn hints(object: &Object) -> Option<MapId> {
    /// `BPF_MAP_TYPE_TASK_STORAGE`.
    const TASK_STORAGE: u32 = 29;
    let fits =
        |map: &keel_object::MapDef| map.name == "hints" && map.kind == TASK_STORAGE && map.value_size == 8;
    object.maps.iter().position(fits).map(|at| MapId(at as u32))
}

/// Returns the arenas that the callbacks use.
fn arenas(object: &Object, ops: &StructOps) -> Vec<MapId> {
    /// `BPF_MAP_TYPE_ARENA`.
    const ARENA: u32 = 33;
    let programs = ops.callbacks.iter().filter_map(|(_, program)| object.programs.get(*program as usize));
    let used = object.maps_used_by(programs.map(|program| program.function));
    let is_arena = |map: &u32| object.maps.get(*map as usize).is_some_and(|map| map.kind == ARENA);
    used.into_iter().filter(is_arena).map(MapId).collect()
}

/// Returns the ring buffer in which the scheduler reports its decisions.
fn decisions(object: &Object) -> Option<MapId> {
    /// `BPF_MAP_TYPE_RINGBUF`.
    const RINGBUF: u32 = 27;
    let fits = |map: &keel_object::MapDef| map.name == keel_trace::policy::RING && map.kind == RINGBUF;
    object.maps.iter().position(fits).map(|at| MapId(at as u32))
}

fn sched_ext_ops<'o>(name: &str, object: &'o Object) -> Result<&'o StructOps, LabError> {
    let mut found = object.struct_ops.iter().filter(|ops| ops.is_scheduler());
    match (found.next(), found.next()) {
        (Some(ops), None) => Ok(ops),
        (None, _) => Err(LabError::BadInput(format!(
            "{name}: no scheduler in it: a .struct_ops section with a struct sched_ext_ops is needed"
        ))),
        (Some(_), Some(_)) => Err(LabError::BadInput(format!(
            "{name}: more than one scheduler in it; name one in a recipe: [ops] variable = \"NAME\""
        ))),
    }
}

/// Returns the engine with the object loaded.
pub(crate) fn engine(spec: &RunSpec, object: &Object) -> Result<Vm, LabError> {
    let code = code(&spec.scheduler.name, object)?;
    engine_for(code, spec, object, None, Looks::default())
}

/// Returns the object's instructions, checked. Many engines may share them.
pub(crate) fn code(name: &str, object: &Object) -> Result<Arc<Code>, LabError> {
    Code::compile(object).map_err(|e| load_error(name, &e))
}

/// What an engine records besides executing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looks {
    /// The directions that branches take.
    pub(crate) covered: bool,
    /// Data races.
    pub(crate) races: bool,
}

/// Like [`engine`], with existing code; its callbacks execute at most `max_insns` instructions.
pub(crate) fn engine_for(
    code: Arc<Code>,
    spec: &RunSpec,
    object: &Object,
    max_insns: Option<u64>,
    looks: Looks,
) -> Result<Vm, LabError> {
    let name = &spec.scheduler.name;
    let transfers = Transfers::new(spec.machine.topology.clone(), spec.machine.lines);
    let mut config = VmConfig::new(spec.machine.topology.cpus(), transfers);
    config.max_insns = max_insns.unwrap_or(config.max_insns);
    config.spare_maps = if spec.scheduler.bytes.program().is_some() { SPARE_MAPS } else { 0 };
    config.checked = spec.checked;
    config.profiled = spec.engine == Engine::Profiler;
    config.covered = looks.covered;
    config.races = looks.races;
    let words = u64::from(config.cpus.div_ceil(64));
    let price_ps = |name: &str| price(name).over(words) * spec.machine.costs.insn_ps;
    config.num_next_ps = Some(price_ps("bpf_iter_num_next"));
    config.known_ps = Some(Known::ALL.map(|known| price_ps(known.name())));
    config.mode = match (spec.engine, spec.checked) {
        (Engine::Native | Engine::Frames, false) => Mode::Native,
        (Engine::Cranelift, false) => Mode::Cranelift,
        _ => Mode::Interpreted,
    };
    Vm::new(code, object, config, &mut Kernel).map_err(|e| load_error(name, &e))
}

/// Loads the object again into the engine's world.
pub(crate) fn again(name: &str, object: &Object, vm: &mut Vm) -> Result<(), LabError> {
    vm.reload(object, &mut Kernel).map_err(|e| load_error(name, &e))
}

/// Loads another object into the engine's world.
pub(crate) fn replace(name: &str, code: Arc<Code>, object: &Object, vm: &mut Vm) -> Result<(), LabError> {
    vm.replace(code, object, &mut Kernel).map_err(|e| load_error(name, &e))
}

/// Loads a larger object that extends the loaded one.
pub(crate) fn extend(name: &str, code: Arc<Code>, object: &Object, vm: &mut Vm) -> Result<(), LabError> {
    vm.extend(code, object, &mut Kernel).map_err(|e| load_error(name, &e))
}

fn load_error(name: &str, error: &LoadError) -> LabError {
    let text = format!("{name}: {error}");
    match error {
        _ if error.is_unsupported() => LabError::Unsupported(text),
        LoadError::Translation { .. } => LabError::Bug(text),
        _ => LabError::BadInput(text),
    }
}

/// The simulated kernel's functions and variables, for the engine to link against.
struct Kernel;

impl<W: World> Linker<W> for Kernel {
    fn function(&mut self, import: Import<'_>) -> Option<FuncId> {
        match import {
            Import::Helper(number) => keel_kernel::helper(number),
            Import::Kfunc(name) => keel_kernel::kfunc(name),
        }
    }

    fn variable(&mut self, _world: &mut W, name: &str) -> Option<Ea> {
        keel_kernel::variable(name)
    }
}
