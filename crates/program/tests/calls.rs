//! Random calls of bpf(2) get a result or an error number, the same ones in every run.

use keel_abi::Topology;
use keel_program::{Event, Machine, NoDesk, Program, ProgramError};
use std::path::Path;
use std::process::Command;

/// BTF without a type: a header, and the empty string.
const NO_TYPES: &[u8] = &[0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const CALL_NS: u64 = 2000;

/// So many calls are made in all.
const CALLS: u64 = 10_000;

/// How the program ends with this seed, what it prints, and how many calls it makes.
fn run(program: &Path, seed: u64) -> (Result<i32, ProgramError>, String, u64) {
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
    let mut program = Program::start(&[program.as_os_str().to_owned(), seed.to_string().into()], machine)
        .expect("it starts");
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
    let (mut made, mut whole) = (0, 0);
    for seed in 0.. {
        let first = run(&program, seed);
        let (code, output, calls) = &first;
        match code {
            Ok(code) => {
                assert_eq!((*code, output.as_str()), (0, "many succeeded\n"), "seed {seed}");
                whole += 1;
            }
            // What keel refuses by name ends a run; all else goes on.
            Err(error) => assert!(matches!(error, ProgramError::Unsupported(_)), "seed {seed}: {error}"),
        }
        assert_eq!(run(&program, seed), first, "seed {seed}");
        made += calls;
        if made >= CALLS && seed >= 3 && whole > 0 {
            break;
        }
        assert!(seed < 1000, "most runs end at once: {made} calls");
    }
    println!("{made} calls, {whole} runs to the end");
}
