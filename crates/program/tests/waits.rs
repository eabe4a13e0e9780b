//! The calls that wait for descriptors, signals and alarms, as on a kernel.

mod common;

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
