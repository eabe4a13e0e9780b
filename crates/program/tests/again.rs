//! A program executes itself again: it has the arguments and variables that it gave, and its clock goes on.

use keel_abi::Topology;
use keel_program::{Event, Machine, NoDesk, Program};
use std::path::Path;
use std::process::Command;

/// BTF without a type: a header, and the empty string.
const NO_TYPES: &[u8] = &[0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const CALL_NS: u64 = 1;

fn run(program: &Path) -> (i32, String, Vec<String>) {
    let machine = Machine {
        topology: Topology::flat(4),
        capacity: Vec::new(),
        btf: NO_TYPES,
        symbols: &[],
        config: String::new(),
        cgroups: Vec::new(),
        tick_ns: 4_000_000,
        seed: 1,
        call_ns: CALL_NS,
        pid: 2,
    };
    let mut program = Program::start(&[program.as_os_str().to_owned()], machine).expect("it starts");
    let mut now_ns = 0;
    let code = loop {
        match program.step(now_ns, &mut NoDesk).expect("the host goes on") {
            Event::Exited(code) => break code,
            Event::Idle { until_ns } => now_ns = until_ns.expect("it waits for time alone"),
            _ => now_ns += CALL_NS,
        }
    };
    let output = String::from_utf8_lossy(&program.take_output()).into_owned();
    (code, output, program.refused().map(str::to_owned).collect())
}

#[test]
fn a_program_executes_itself_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("again");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/again.c");
    let built = Command::new("cc").arg("-o").arg(&program).arg(source).arg("-lpthread").status();
    assert!(built.expect("there is a C compiler").success());
    let (code, output, refused) = run(&program);
    let expected = "first -: 250 ms, pid 2, -\n\
                    renamed with words: 500 ms, pid 2, 1\n\
                    renamed with words: 750 ms, pid 2, 2\n\
                    renamed with words: 0 ms, pid 2, 3\n\
                    Permission denied\n";
    assert_eq!((code, output.as_str()), (0, expected));
    assert_eq!(refused, ["executing another program in its place"]);
}
