//! Every case of `tests/bpf` on the interpreter and on native code; `./x vm` runs them on real kernels.
#![forbid(unsafe_code)]

mod common;

#[path = "bpf/coverage.rs"]
mod coverage;

use keel_abi::bpf::{Ea, Entry, FuncId, MapId, World};
use keel_abi::lines::Transfers;
use keel_abi::scx::Op;
use keel_abi::{Instant, Span};
use keel_bpfc::{Case, Compiler};
use keel_kernel::{KERNEL_BTF, Scheduler, Setup, Sim};
use keel_lab::Machine;
use keel_object::{Btf, LoadOptions, Object};
use keel_trace::{Class, Fanout};
use keel_vm::{Code, Import, Linker, Mode, Vm, VmConfig};
use std::sync::{Arc, LazyLock};

/// The folder of the cases, from the root.
const FOLDER: &str = "tests/bpf";

/// A task that yields once, early: the case runs in `ops.yield`, where there is a current task.
const YIELDS: &str = "{ 'tasks': { 'yielder': { 'yield': '', 'run': 1000, 'loop': 1 } } }";

/// Time for timers to fire, and for lock waiters to give up.
const DURATION: Span = Span::from_ms(400);

/// The features of the simulated kernel.
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

/// A loaded file of cases.
struct File {
    name: String,
    object: Object,
    code: Arc<Code>,
    cases: Vec<Case>,
}

/// All files, compiled by the first test that needs them.
static FILES: LazyLock<Vec<File>> = LazyLock::new(files);

fn files() -> Vec<File> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let compiler = Compiler::new(root).cpu("v4").include("schedulers/include").include("crates/kernel/btf");
    let btf = Btf::parse(KERNEL_BTF).unwrap_or_else(|e| panic!("{e}"));
    let options = LoadOptions::default().kconfig("LINUX_KERNEL_VERSION", 7 << 16 | 2 << 8);
    let names = compiler.names(FOLDER).unwrap_or_else(|e| panic!("{e}"));
    let load = |name: String| {
        let bytes = compiler.compile(format!("{FOLDER}/{name}.bpf.c")).unwrap_or_else(|e| panic!("{e}"));
        let object = keel_object::load(&bytes, &btf, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let code = Code::compile(&object).unwrap_or_else(|e| panic!("{name}: {e}"));
        let cases = keel_bpfc::cases(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        File { name, object, code, cases }
    };
    names.into_iter().map(load).collect()
}

/// The value that a case leaves in its variable, or how it failed.
fn run(file: &File, case: &Case, mode: Mode, machine: &Machine) -> Result<Vec<u8>, String> {
    let object = &file.object;
    let transfers = Transfers::new(machine.topology.clone(), machine.lines);
    let config = VmConfig { mode, ..VmConfig::new(machine.topology.cpus(), transfers) };
    let vm = Vm::new(file.code.clone(), object, config, &mut Kernel).map_err(|e| e.to_string())?;
    let program = object.programs.iter().position(|program| program.name == case.name);
    let entry = Entry(program.ok_or("it is no program")? as u32);
    let local_types = object.local_types.clone();
    let scheduler = Scheduler { callbacks: vec![(Op::Yield, entry)], local_types, ..Scheduler::default() };
    let workload = common::workload(YIELDS, machine);
    let setup = Setup {
        machine: machine.clone(),
        workload,
        scheduler: Some(scheduler),
        programs: Vec::new(),
        fair: Default::default(),
        seed: 1,
        noise: keel_abi::Noise::None,
    };
    let mut sim = Sim::new(vm, setup, Class::default()).map_err(|e| e.to_string())?;
    sim.run_until(Instant::ZERO + DURATION, &mut Fanout::new());
    if let Some(exit) = sim.exit() {
        return Err(exit.message.clone());
    }
    let invalid_accesses = sim.engine().bad_accesses();
    if invalid_accesses != case.invalid_accesses {
        return Err(format!(
            "{invalid_accesses} times it accessed what is not its own, not {}",
            case.invalid_accesses
        ));
    }
    let bss = object.maps.iter().position(|map| map.name == ".bss").ok_or("no .bss")?;
    let world = sim.engine().world_ref();
    let got = world.read_variable(MapId(bss as u32), case.offset as u32, case.want.len() as u32);
    Ok(got.ok_or("no result")?.to_vec())
}

#[test]
fn both_engines_find_what_the_cases_say() {
    let machine = common::two_nodes();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in FILES.iter() {
        for case in &file.cases {
            for mode in [Mode::Interpreted, Mode::Native, Mode::Cranelift] {
                let got = run(file, case, mode, &machine);
                count += 1;
                if got.as_deref() != Ok(&case.want) {
                    let got = got.map_or_else(|why| why, |got| case.shown(&got));
                    let want = case.shown(&case.want);
                    wrong.push(format!("{}, {}, {mode:?}: {got}, not {want}", file.name, case.name));
                }
            }
        }
    }
    println!("{count} results");
    assert!(count > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
}
