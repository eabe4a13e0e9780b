//! Random calls of bpf(2) get a result or an error number, the same ones in every run.

use keel_abi::Topology;
use keel_program::{Event, Machine, NoDesk, Program, ProgramError};
use std::path::Path;
use std::process::Command;

/// BTF without a type: a header, and the empty string.
const NO_TYPES: &[u8] = &[0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const CALL_NS: u64 = 2000;

/// How the program ends, what it prints, and how many calls it makes.
fn run(program: &Path) -> (Result<i32, ProgramError>, String, u64) {
    let machine = Machine {
        topology: Topology::flat(4),
        capacity: Vec::new(),
        btf: NO_TYPES,
        config: String::new(),
        seed: 1,
        call_ns: CALL_NS,
    };
    let mut program = Program::start(&[program.as_os_str().to_owned()], machine).expect("it starts");
    let mut now_ns = 0;
    let code = loop {
        match program.step(now_ns, &mut NoDesk) {
            Ok(Event::Exited(code)) => break Ok(code),
            Ok(Event::Idle { until_ns }) => now_ns = until_ns.expect("it waits for time alone"),
            Ok(Event::Attach(_)) => program.attached(Some(22)).expect("the host goes on"),
            Ok(_) => now_ns += CALL_NS,
            Err(error) => break Err(error),
        }
    };
    (code, String::from_utf8_lossy(&program.take_output()).into_owned(), program.calls())
}

#[test]
fn random_calls_of_bpf_end_in_results_and_error_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("calls");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/calls.c");
    let built =
        Command::new("cc").arg("-o").arg(&program).arg(source).status().expect("there is a C compiler");
    assert!(built.success());
    let first = run(&program);
    let (code, output, calls) = &first;
    // A map of a kind that keel refuses by name ends it; all else goes on.
    match code {
        Ok(code) => assert_eq!((*code, output.as_str()), (0, "many succeeded\n")),
        Err(error) => assert!(matches!(error, ProgramError::Unsupported(_)), "{error}"),
    }
    assert!(*calls > 1000, "{calls} calls");
    assert_eq!(run(&program), first);
}
