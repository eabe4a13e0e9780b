//! SIGINT ends what a program waits in, as on a kernel.

mod common;

use keel_program::{Event, NoDesk, Program};
use std::path::Path;

/// When it gets the signal, in nanoseconds.
const SIGNAL_NS: u64 = 40_000_000_000;

/// What a program prints that gets SIGINT once it waits for nothing earlier.
fn run(program: &Path, how: &str) -> String {
    let machine = common::machine(1, 1);
    let mut program =
        Program::start(&[program.as_os_str().to_owned(), how.into()], machine).expect("it starts");
    let (mut now_ns, mut is_told) = (0, false);
    loop {
        match program.step(now_ns, &mut NoDesk).expect("the host goes on") {
            Event::Exited(code) => {
                assert_eq!((code, program.refused().count()), (0, 0), "{how}");
                return String::from_utf8_lossy(&program.take_output()).into_owned();
            }
            Event::Idle { until_ns: Some(until) } if until < SIGNAL_NS => now_ns = until,
            Event::Idle { .. } => {
                assert!(!is_told, "{how}: it still waits");
                (now_ns, is_told) = (SIGNAL_NS, true);
                program.step(now_ns, &mut NoDesk).expect("the host goes on");
                program.interrupt().expect("the host goes on");
            }
            _ => now_ns += 1,
        }
    }
}

#[test]
fn sigint_ends_every_kind_of_wait() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("signals", folder.path());
    let check = |how: &str, expected: &str| assert_eq!(run(&program, how), expected, "{how}");
    check("pause", "-1, handled 1, 0 s left\n");
    check("poll", "-1, handled 1, 0 s left\n");
    check("sleep", "-1, handled 1, 60 s left\n");
    check("sigwait", "-1 Resource temporarily unavailable\n2, handled 0, 0 s left\n");
    check("thread", "a thread got 2, 0\n0, handled 0, 0 s left\n");
}
