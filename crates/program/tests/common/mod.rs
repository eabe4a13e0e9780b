//! What the tests of programs share: a machine, and C programs of `tests/programs`.
#![allow(unreachable_pub, reason = "test programs share this module")]

use keel_abi::Topology;
use keel_program::Machine;
use std::path::{Path, PathBuf};
use std::process::Command;

/// BTF without a type: a header, and the empty string.
const NO_TYPES: &[u8] = &[0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

/// A machine of this many CPUs without cgroups; a system call takes `call_ns`.
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
