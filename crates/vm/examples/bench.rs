//! Prints what callbacks cost: nanoseconds each, on either engine.
//!
//! `cargo run --release -p keel-vm --example bench`
#![allow(clippy::disallowed_types, reason = "it measures the machine that it runs on")]

use keel_abi::bpf::{CallSite, Ea, Engine, Entry, FuncId, Host, Progress, Reply, Usage, World};
use keel_abi::lines::{LineCosts, Transfers};
use keel_abi::{CpuId, Topology};
use keel_object::model::{Function, Insn, Ksym, Object, Program};
use keel_vm::memory::VmWorld;
use keel_vm::{Code, Import, Linker, Mode, Vm, VmConfig};
use std::hint::black_box;
use std::time::Instant;

struct Adder;

impl Host<VmWorld> for Adder {
    #[inline(never)]
    fn call(&mut self, site: CallSite<'_, VmWorld>, func: FuncId, args: &[u64; 5]) -> Reply {
        if func.0 == 2 && !site.again {
            return Reply::Suspend;
        }
        Reply::Value(args[0] + u64::from(site.cpu.0))
    }

    fn turn(&mut self, _: CpuId, _: Usage, _: bool) -> Option<keel_abi::Instant> {
        Some(keel_abi::Instant::ZERO)
    }
}

struct Any;

impl Linker<VmWorld> for Any {
    fn function(&mut self, import: Import<'_>) -> Option<FuncId> {
        match import {
            Import::Helper(n) => Some(FuncId(n as u32)),
            Import::Kfunc(_) => None,
        }
    }

    fn variable(&mut self, world: &mut VmWorld, _: &str) -> Option<Ea> {
        world.reserve(1 << 16)
    }
}

fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

fn exit() -> Insn {
    insn(0x95, 0, 0, 0, 0)
}

fn empty() -> Vec<Insn> {
    vec![insn(0xb7, 0, 0, 0, 0), exit()]
}

/// Twenty instructions and three calls, as in a small `enqueue`.
fn small() -> Vec<Insn> {
    let call = insn(0x85, 0, 0, 0, 1);
    vec![
        insn(0x79, 6, 1, 0, 0),
        insn(0x79, 7, 1, 8, 0),
        insn(0xbf, 1, 6, 0, 0),
        insn(0xb7, 2, 0, 0, 0),
        call,
        insn(0xbf, 8, 0, 0, 0),
        insn(0x7b, 10, 8, -8, 0),
        insn(0xbf, 1, 7, 0, 0),
        insn(0x07, 1, 0, 0, 5),
        call,
        insn(0x0f, 8, 0, 0, 0),
        insn(0x15, 8, 0, 1, 0),
        insn(0x07, 8, 0, 0, 1),
        insn(0xbf, 1, 8, 0, 0),
        insn(0xb7, 2, 0, 0, 20),
        insn(0xb7, 3, 0, 0, 0),
        call,
        insn(0x79, 1, 10, -8, 0),
        insn(0x0f, 0, 1, 0, 0),
        exit(),
    ]
}

/// 1,000 rounds of a load, an add and a store through a pointer.
fn memory_loop() -> Vec<Insn> {
    vec![
        insn(0x18, 1, 3, 0, 0),
        insn(0, 0, 0, 0, 0),
        insn(0xb7, 2, 0, 0, 1000),
        insn(0x79, 3, 1, 8, 0),
        insn(0x07, 3, 0, 0, 1),
        insn(0x7b, 1, 3, 16, 0),
        insn(0x07, 1, 0, 0, 8),
        insn(0x07, 2, 0, 0, -1),
        insn(0x55, 2, 0, -6, 0),
        insn(0xb7, 0, 0, 0, 0),
        exit(),
    ]
}

/// `rounds` calls of helper 1.
fn calls(rounds: i32) -> Vec<Insn> {
    vec![
        insn(0xb7, 6, 0, 0, rounds),
        insn(0xbf, 1, 6, 0, 0),
        insn(0x85, 0, 0, 0, 1),
        insn(0x07, 6, 0, 0, -1),
        insn(0x55, 6, 0, -4, 0),
        exit(),
    ]
}

fn suspending() -> Vec<Insn> {
    vec![insn(0xb7, 1, 0, 0, 7), insn(0x85, 0, 0, 0, 2), exit()]
}

fn vm(insns: Vec<Insn>, mode: Mode) -> Vm {
    let object = Object {
        functions: vec![Function { name: "f".into(), insns, ..Function::default() }],
        programs: vec![Program {
            name: "f".into(),
            section: "struct_ops/f".into(),
            function: 0,
            sleepable: false,
        }],
        ksyms: vec![Ksym { name: "memory".into(), is_function: false }],
        ..Object::default()
    };
    let transfers = Transfers::new(Topology::regular(1, 1, 4, 1), LineCosts::default());
    let code = Code::compile(&object).expect("well formed");
    Vm::new(code, &object, VmConfig { mode, ..VmConfig::new(4, transfers) }, &mut Any).expect("it loads")
}

/// Nanoseconds a callback, the best of several rounds.
fn measure(mut vm: Vm, times: u32) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        for i in 0..times {
            let args = [u64::from(i), 3, 0];
            let mut progress = vm.start(&mut Adder, CpuId(i & 3), Entry(0), black_box(&args));
            while progress == Progress::Suspended {
                progress = vm.resume(&mut Adder, CpuId(i & 3));
            }
            black_box(&progress);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(times));
    }
    best
}

fn main() {
    for mode in [Mode::Native, Mode::Interpreted] {
        let scale = if mode == Mode::Native { 10 } else { 1 };
        let line = |what: &str, insns: Vec<Insn>, times: u32, per: f64, unit: &str| {
            let ns = measure(vm(insns, mode), times * scale) / per;
            println!("{mode:?}: {what}: {ns:.1} ns {unit}");
        };
        line("empty callback", empty(), 200_000, 1.0, "each");
        line("20 instructions, 3 host calls", small(), 100_000, 1.0, "each");
        line("memory loop", memory_loop(), 300, 1000.0, "a round of 6 instructions");
        line("host calls", calls(1000), 300, 1000.0, "each");
        line("a suspension and its resumption", suspending(), 100_000, 1.0, "a callback");
    }
}
