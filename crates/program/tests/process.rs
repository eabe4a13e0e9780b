//! What a process has: random bytes from the seed, a folder, policies and priorities.

mod common;

#[test]
fn a_process_has_what_it_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("process", folder.path());
    let (code, output, refused) = common::run(&program, &[]);
    assert_eq!(
        (code, refused),
        (0, ["BPF_ENABLE_STATS", "pidfd_open()"].map(str::to_owned).to_vec()),
        "{output}"
    );
    let (random, rest): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| line.ends_with(", 1"));
    assert!(random.len() == 2 && random[0] != random[1], "{output}");
    let expected = [
        "/dev/urandom: 16",
        "/dev/random: 16",
        "the host's messages: -1 No such file or directory",
        "vector: 8",
        "5",
        "short: -1 Invalid argument",
        // Its folder.
        "folder: 0",
        "below: 0",
        "/sys/devices/system/cpu",
        "online: 1",
        "missing: -1 No such file or directory",
        "file: -1 Not a directory",
        "small: -1 Numerical result out of range",
        "rename: -1 Read-only file system",
        "back: 0",
        // Its second thread's policy.
        "fifo: 0",
        "policy: 1",
        "none: -1 Invalid argument",
        "ext: 0",
        "nice: 0",
        "nice and 20: 15",
        "attr: 0",
        "56 bytes, policy 7, nice -5, priority 0",
        "attr: 0",
        "policy: 2",
        "the first thread's: 0",
        "nobody: -1 No such process",
        // Where it is.
        "pinned: 0",
        "cpu: 1",
        "both: 0",
        "node: 0",
        "1 0",
        "statistics: -1 Invalid argument",
        "refused: -1 Function not implemented",
    ];
    assert_eq!(rest, expected);
    assert_eq!(common::run(&program, &[]).1, output, "again");
}
