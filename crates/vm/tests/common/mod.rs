//! Shared code of the engine's tests: a tiny assembler, a mock host, a machine to run on.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod asm;
pub mod host;

use keel_abi::bpf::{Ea, Engine, Entry, FuncId, Progress, Usage, World};
use keel_abi::lines::{LINE_BYTES, LineCosts, Transfers};
use keel_abi::{CpuId, Topology};
use keel_object::model::{Function, Insn, Object, Program};
use keel_vm::memory::VmWorld;
use keel_vm::{Code, Import, Linker, LoadError, Mode, Vm, VmConfig};

/// The two engines.
pub const MODES: [Mode; 3] = [Mode::Interpreted, Mode::Native, Mode::Cranelift];

/// Knows every helper and kfunc except `unknown`. Each variable is a fresh page.
pub struct AnyLinker;

impl Linker<VmWorld> for AnyLinker {
    fn function(&mut self, import: Import<'_>) -> Option<FuncId> {
        match import {
            Import::Helper(n) => Some(FuncId(n as u32)),
            Import::Kfunc("unknown") => None,
            Import::Kfunc(_) => Some(FuncId(1000)),
        }
    }

    fn variable(&mut self, world: &mut VmWorld, name: &str) -> Option<Ea> {
        if name == "unknown" { None } else { world.reserve(64) }
    }
}

/// An object made of functions. The first is the only program.
pub fn object(functions: Vec<Vec<Insn>>) -> Object {
    let functions = functions
        .into_iter()
        .enumerate()
        .map(|(i, insns)| Function { name: format!("f{i}"), insns, ..Function::default() })
        .collect();
    let program =
        Program { name: "main".into(), section: "struct_ops/main".into(), function: 0, sleepable: false };
    let kfuncs = ["known", "unknown"]
        .map(|name| keel_object::model::Kfunc { name: name.into(), symbol: name.into() })
        .to_vec();
    Object { functions, programs: vec![program], kfuncs, ..Object::default() }
}

/// Every distance has its own price.
pub const COSTS: LineCosts = LineCosts {
    bytes: LINE_BYTES,
    smt_ps: 1,
    llc_ps: 10,
    node_ps: 100,
    hop_ps: 1000,
    more_hops_ps: 500,
    tasks_held: 0,
    memory_ps: 7,
};

/// Four CPUs in two nodes, with a price for every distance.
pub fn config(mode: Mode) -> VmConfig {
    let transfers = Transfers::new(Topology::regular(2, 1, 2, 1), COSTS);
    VmConfig { mode, ..VmConfig::new(4, transfers) }
}

/// Loads an object.
pub fn load(object: &Object, config: VmConfig) -> Result<Vm, LoadError> {
    Vm::new(Code::compile(object)?, object, config, &mut AnyLinker)
}

/// Runs an object's program on CPU 0, resuming it as often as it is suspended.
pub fn run(vm: &mut Vm, host: &mut host::Mock, args: &[u64]) -> Progress {
    run_on(vm, host, CpuId(0), args)
}

/// Like `run` on any CPU.
pub fn run_on(vm: &mut Vm, host: &mut host::Mock, cpu: CpuId, args: &[u64]) -> Progress {
    let mut progress = vm.start(host, cpu, Entry(0), args);
    while progress == Progress::Suspended {
        progress = vm.resume(host, cpu);
    }
    progress
}

/// R0 and usage of a callback that ended well.
pub fn done(progress: Progress) -> (u64, Usage) {
    match progress {
        Progress::Done { value, usage } => (value, usage),
        other => panic!("the callback did not end well: {other:?}"),
    }
}
