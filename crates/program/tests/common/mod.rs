//! Shared parts of the programs' tests: a machine, and C programs from `tests/programs`.
#![allow(unreachable_pub, dead_code, reason = "test programs share this module, and each uses a part of it")]

use keel_abi::Topology;
use keel_program::{Event, Machine, NoDesk, Program};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// BTF without a type: a header, and the empty string.
const NO_TYPES: &[u8] = &[0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

/// A machine with this many CPUs and no cgroups. A system call takes `call_ns`.
pub fn machine(cpus: u32, call_ns: u64) -> Machine {
    Machine {
        topology: Topology::flat(cpus),
        capacity: Vec::new(),
        btf: NO_TYPES,
        symbols: &[],
        config: String::new(),
        cgroups: Vec::new(),
        tick_ns: 4_000_000,
        seed: 1,
        call_ns,
        pid: 2,
    }
}

/// Compiles `tests/programs/NAME.c` into a folder.
pub fn compiled(name: &str, folder: &Path) -> PathBuf {
    let program = folder.join(name);
    let source = format!("{}/../../tests/programs/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let built = Command::new("cc").arg("-o").arg(&program).arg(source).arg("-lpthread").status();
    assert!(built.expect("there is a C compiler").success());
    program
}

/// Runs a program without a scheduler until it exits. Returns its exit code, its output, and its refused calls. A
/// system call takes a nanosecond.
pub fn run(program: &Path, arguments: &[&str]) -> (i32, String, Vec<String>) {
    let argv: Vec<OsString> =
        std::iter::once(program.into()).chain(arguments.iter().map(OsString::from)).collect();
    let mut program = Program::start(&argv, machine(4, 1)).expect("it starts");
    let mut now_ns = 0;
    let code = loop {
        match program.step(now_ns, &mut NoDesk).expect("the host goes on") {
            Event::Exited(code) => break code,
            Event::Idle { until_ns } => now_ns = until_ns.expect("it waits for time alone"),
            _ => now_ns += 1,
        }
    };
    let output = String::from_utf8_lossy(&program.take_output()).into_owned();
    (code, output, program.refused().map(str::to_owned).collect())
}
