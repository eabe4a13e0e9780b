//! A program's server of statistics is asked, and answers, as often as is wanted.

use keel_abi::Topology;
use keel_program::{Event, Machine, NoDesk, Program};
use std::process::Command;

/// BTF without a type: a header, and the empty string.
const NO_TYPES: &[u8] = &[0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const CALL_NS: u64 = 2000;
const SECOND_NS: u64 = 1_000_000_000;

/// How the program ends, and what it answered in which second.
fn run(every_ns: Option<u64>) -> (i32, Vec<(u64, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("stats");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/stats.c");
    let built = Command::new("cc").arg("-o").arg(&program).arg(source).arg("-lpthread").status();
    assert!(built.expect("there is a C compiler").success());
    let machine = Machine {
        topology: Topology::flat(2),
        capacity: Vec::new(),
        btf: NO_TYPES,
        config: String::new(),
        seed: 1,
        call_ns: CALL_NS,
        pid: 2,
    };
    let mut program = Program::start(&[program.into_os_string()], machine).expect("it starts");
    if let Some(every_ns) = every_ns {
        program.ask_every(every_ns);
    }
    let mut now_ns = 0;
    let code = loop {
        match program.step(now_ns, &mut NoDesk).expect("it asks for nothing unusual") {
            Event::Exited(code) => break code,
            Event::Idle { until_ns } => now_ns = until_ns.expect("it waits for time alone"),
            _ => now_ns += CALL_NS,
        }
    };
    let seconds = |(at_ns, text): (u64, String)| (at_ns / SECOND_NS, text);
    (code, program.take_answers().into_iter().map(seconds).collect())
}

#[test]
fn a_server_of_statistics_is_asked() {
    let answer = |(second, nth, here)| (second, format!(r#"{{"questions":{nth},"here":{here}}}"#));
    assert_eq!(run(None), (0, Vec::new()));
    // The third question has no answer. A server that has hung up is called again.
    let expected = [(0, 1, 1), (2, 2, 2), (6, 4, 1), (8, 5, 2)].map(answer);
    let answered = run(Some(2 * SECOND_NS));
    assert_eq!(answered, (0, expected.to_vec()));
    assert_eq!(run(Some(2 * SECOND_NS)), answered);
}
