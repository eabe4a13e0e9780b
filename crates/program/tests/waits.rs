//! The calls that wait for descriptors, signals and alarms, as on a kernel.

mod common;

use keel_program::{Event, NoDesk, Program};
use std::path::Path;

/// What a program prints that runs to its end.
fn run(program: &Path, how: &str) -> String {
    let (code, output, refused) = common::run(program, &[how]);
    assert_eq!((code, refused), (0, Vec::<String>::new()), "{how}: {output}");
    output
}

#[test]
fn every_wait_ends_as_on_a_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("waits", folder.path());
    let check = |how: &str, expected: &[&str]| {
        let output = run(&program, how);
        assert_eq!(output.lines().collect::<Vec<_>>(), expected, "{how}");
        assert_eq!(run(&program, how), output, "{how}, again");
    };
    check(
        "select",
        &["0 at 20, in 0", "1 at 50, in 1, 970 ms left", "2 at 50, in 1, out 1", "-1 Bad file descriptor"],
    );
    check("alarm", &["0", "5 s left", "14 at 10 by 1", "14 at 30, 0"]);
    let interrupted = "-1 Interrupted system call";
    check(
        "suspend",
        &[
            &format!("{interrupted}, 14 at 1000, blocked 1"),
            &format!("{interrupted}, 10 at 1000, blocked 1"),
            &format!("{interrupted}, 14 at 2000, blocked 1"),
            "0 at 5000",
        ],
    );
    check(
        "signalfd",
        &[
            "-1 Resource temporarily unavailable",
            "1 at 1000",
            "128, signal 14 of 1",
            "128, signal 14 at 2000",
        ],
    );
    check("threads", &["-1, 10 at 40, 49 s left", "0 -1 No such process"]);
    check("inotify", &["1, -1 No such file or directory", "0 at 100", "16, 1 8000"]);
    check(
        "timerfd",
        &[
            "1 at 2000",
            "1 at 4000",
            "1 at 6000",
            "1 at 8000",
            "1 at 8007",
            "1 at 8007",
            "-1 Invalid argument",
        ],
    );
    check("memory", &["0"]);
}

#[test]
fn who_polls_a_ring_buffer_looks_at_it_now_and_then() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("waits", folder.path());
    let argv = [program.into(), "ring".into()];
    let mut program = Program::start(&argv, common::machine(4, 1)).expect("it starts");
    let until_ns = loop {
        match program.step(0, &mut NoDesk).expect("the host goes on") {
            Event::Idle { until_ns } => break until_ns,
            Event::Exited(code) => panic!("it exited with {code}"),
            _ => {}
        }
    };
    // Its time-out is ten seconds.
    assert_eq!(until_ns, Some(1_000_000));
}
