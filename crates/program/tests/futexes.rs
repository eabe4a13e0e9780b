//! Several futexes in one call, and the calls that have one operation each, as on a kernel.

mod common;

#[test]
fn several_futexes_are_waited_for_and_woken() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("futexes", folder.path());
    let (code, output, refused) = common::run(&program, &[]);
    assert_eq!((code, refused), (0, Vec::<String>::new()), "{output}");
    let expected = [
        // For any of several.
        "late: -1 Connection timed out at 20",
        "late: -1 Connection timed out at 50",
        "third: 2 done at 60",
        "wake: 1 done at 60",
        "none: -1 Invalid argument at 60",
        "clock: -1 Invalid argument at 60",
        "value: -1 Resource temporarily unavailable at 60",
        "size: -1 Invalid argument at 60",
        // Of two at once.
        "first: 1 done at 61",
        "second: 1 done at 61",
        "third: 1 done at 61",
        "0",
        "unknown: -1 Function not implemented at 61",
        // One by one.
        "late: -1 Connection timed out at 66",
        "value: -1 Resource temporarily unavailable at 66",
        "no bits: -1 Invalid argument at 66",
        "moved: 1 done at 67",
        "gone: 0 done at 67",
        "other bits: 0 done at 67",
        "woken: 0 done at 67",
        "there: 1 done at 67",
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}
