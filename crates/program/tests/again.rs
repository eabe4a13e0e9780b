//! A program executes itself again: it has the arguments and variables that it gave, and its clock goes on.

mod common;

use keel_program::{Event, NoDesk, Program};
use std::path::Path;

const CALL_NS: u64 = 1;

fn run(program: &Path) -> (i32, String, Vec<String>) {
    let machine = common::machine(4, CALL_NS);
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
    let program = common::compiled("again", folder.path());
    let (code, output, refused) = run(&program);
    let expected = "first -: 250 ms, pid 2, -\n\
                    renamed with words: 500 ms, pid 2, 1\n\
                    renamed with words: 750 ms, pid 2, 2\n\
                    renamed with words: 0 ms, pid 2, 3\n\
                    Permission denied\n";
    assert_eq!((code, output.as_str()), (0, expected));
    assert_eq!(refused, ["executing another program in its place"]);
}
