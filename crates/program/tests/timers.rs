//! POSIX timers, signals with values, and the clocks of CPU time, as on a kernel.

mod common;

#[test]
fn timers_and_clocks_of_cpu_time_are_a_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("timers", folder.path());
    let check = |how: &str, expected: &[&str]| {
        let (code, output, refused) = common::run(&program, &[how]);
        assert_eq!((code, refused), (0, Vec::<String>::new()), "{how}: {output}");
        assert_eq!(output.lines().collect::<Vec<_>>(), expected, "{how}");
    };
    check(
        "signals",
        &[
            "14 by timer at 10",
            "14 by timer at 30",
            "14 by timer at 50",
            "14 ms of 20 left",
            "0 left, 0",
            "0",
            "again: -1 Invalid argument",
        ],
    );
    check("overruns", &["10, value 77, 9 more", "10 at 1000, 0 more"]);
    check("threads", &["5 at 100", "5 at 300", "5 at 500", "0"]);
    check("values", &["0, 42 from 1 by 1", "1 2 3 ", "nobody: -1 No such process"]);
    check(
        "wrongly",
        &[
            "signal: -1 Invalid argument",
            "notice: -1 Invalid argument",
            "raw: -1 Operation not supported",
            "clock: -1 Invalid argument",
            "timer: 0 ",
            "span: -1 Invalid argument",
            "address: -1 Invalid argument",
            "time: -1 Invalid argument",
            "old: -1 Invalid argument",
            "sample: -1 Invalid argument",
        ],
    );
    check("cpu-time", &["1002", "1002", "1002", "less", "200 ticks, 0 used, 3 us", "-1"]);
}
