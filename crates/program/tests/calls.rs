//! Random calls of bpf(2) return a result or an error number, the same ones in every run.

mod common;

use keel_program::{Event, NoDesk, Program, ProgramError};
use std::path::Path;

const CALL_NS: u64 = 2000;

/// The total number of calls.
const CALLS: u64 = 10_000;

/// How the program ends with this seed, its output, and the number of its calls.
fn run(program: &Path, seed: u64) -> (Result<i32, ProgramError>, String, u64) {
    let machine = common::machine(4, CALL_NS);
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
    let program = common::compiled("calls", folder.path());
    let (mut made, mut whole) = (0, 0);
    for seed in 0.. {
        let first = run(&program, seed);
        let (code, output, calls) = &first;
        match code {
            Ok(code) => {
                assert_eq!((*code, output.as_str()), (0, "many succeeded\n"), "seed {seed}");
                whole += 1;
            }
            // A feature that keel rejects by name ends a run. Everything else continues.
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
