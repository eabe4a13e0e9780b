//! What asynchronous runtimes need from a kernel: edges, single events, non-blocking sockets.

mod common;

#[test]
fn events_come_as_on_a_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("edges", folder.path());
    let check = |how: &str, expected: &str| {
        let (code, output, refused) = common::run(&program, &[how]);
        assert_eq!((code, refused), (0, Vec::<String>::new()), "{how}: {output}");
        assert_eq!(output.lines().collect::<Vec<_>>().join("|"), expected, "{how}");
    };
    check(
        "counter",
        "empty: 0, 0|woken: 1, 1|seen: 0, 0|woken again: 1, 1|read: 8|empty again: 0, 0|woken once more: 1, 1|asked \
         anew: 1, 1",
    );
    check(
        "pipe",
        "room: 1, 4|seen: 0, 0|write: 3|bytes: 1, 1|seen: 0, 0|write: 2|more: 1, 1|read: 5|full: 1, 1|room again: 1, \
         4|end: 1, 10",
    );
    check(
        "once",
        "outer: 0|outer: 1|inner: 1|once: 1, 1|no more: 0, 0|outer: 0|asked anew: 1, 1|no room: -1 Invalid argument",
    );
    let (none, later) = ("-1 Transport endpoint is not connected", "-1 Resource temporarily unavailable");
    check(
        "sockets",
        &format!(
            "peer: {none}|name: 0|/run/name, 10|control: 0|accept: {later}|nobody: 0, 0|somebody: 1, 1|seen: 0, \
             0|option: 0|1|message: 5|waiting: 0|5|message: 5|words|at once: {later}|control: 0|read: {later}"
        ),
    );
    check("files", "read: 3|lock: 0|root: 0|4 of 2");
    check(
        "mutex",
        "0|Device or resource busy|Connection timed out|held|0, Resource deadlock avoided, 0, Operation not permitted",
    );
    check(
        "machine",
        "|notsupported|0000000f|Node 0 MemUsed:        33554432 kB|nodev\tdebugfs|debugfs /sys/kernel/debug debugfs \
         rw 0 0|25 1 0:25 / /sys/kernel/debug rw - debugfs debugfs rw|there|61.50 0.00",
    );
    check(
        "process",
        "child: -1 No child processes|limit: 0|0 0 0|user: 0|group: 0|a long name of |slack: 0|slack: 1",
    );
}
