//! Full disks and small limits: the verdict is kept, and each file that could not be written is named once.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs keel within limits that a shell sets first.
fn within(folder: &Path, limits: &str, args: &[&str]) -> Output {
    let script = format!("{limits}; exec '{}' \"$@\"", env!("CARGO_BIN_EXE_keel"));
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).args(args).current_dir(folder).env_remove("RUST_LOG");
    command.stdin(Stdio::null()).output().expect("sh runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.into()).expect("keel prints UTF-8")
}

const SIM: &[&str] = &["sim", "fifo", "--machine", "4", "--workload", "mix:20:90", "--duration", "300ms"];

#[test]
fn a_full_disk_costs_the_file_and_not_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let whole = within(folder.path(), ":", &[SIM, &["--json"]].concat());
    let whole: serde_json::Value = serde_json::from_slice(&whole.stdout).unwrap();
    // 8 blocks of 512 bytes; or a device that is always full.
    for (limits, option, file, why) in [
        ("ulimit -f 8", "--trace", "t.keel", "file too large"),
        ("ulimit -f 8", "--perfetto", "p.pf", "file too large"),
        ("ulimit -f 8", "--report", "p.html", "file too large"),
        (":", "--trace", "/dev/full", "no space left on device"),
        (":", "--perfetto", "/dev/full", "no space left on device"),
        (":", "--report", "/dev/full", "no space left on device"),
    ] {
        let output = within(folder.path(), limits, &[SIM, &["--json", option, file]].concat());
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option} {file}: {reported}");
        assert_eq!(reported.matches(file).count(), 1, "{option}: {reported}");
        assert!(reported.contains(&format!("{file} cannot be written: {why}\n")), "{option}: {reported}");
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(run["switches"], whole["switches"], "{option} {file}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{option} {file} leaves nothing");
    }
}

#[test]
fn a_help_that_nobody_can_read_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["--help"][..], &["--version"], &["sim", "--help"]] {
        let output = within(folder.path(), "exec >/dev/full", args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&output.stderr), "keel: stdout cannot be written: no space left on device\n");
    }
}

#[test]
fn one_full_file_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let args = [SIM, &["--trace", "/dev/full", "--report", "p.svg"]].concat();
    let output = within(folder.path(), ":", &args);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(folder.path().join("p.svg").exists());
}

#[test]
fn many_runs_keep_their_table_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let compare = ["compare", "fifo,cfs", "--runs", "1", "--duration", "50ms", "--report", "/dev/full"];
    for args in [&compare[..], &["lab", "yield-8", "--runs", "1", "--report", "/dev/full"]] {
        let output = within(folder.path(), ":", args);
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {reported}");
        assert_eq!(reported, "keel: /dev/full cannot be written: no space left on device\n", "{args:?}");
        assert!(output.stdout.len() > 200, "{args:?}: {}", text(&output.stdout));
    }
}

#[test]
fn too_little_address_space_is_reported_in_readable_units() {
    let folder = tempfile::tempdir().unwrap();
    let output = within(folder.path(), "ulimit -v 4000000", SIM);
    let reported = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("27.5 GiB") && reported.contains("ulimit -v unlimited"), "{reported}");
    // Enough for one run at a time, on however many CPUs.
    let compare = ["compare", "fifo,cfs", "--runs", "3", "--duration", "20ms"];
    let output = within(folder.path(), "ulimit -v 36000000", &compare);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn more_jobs_than_make_sense_are_fewer() {
    let folder = tempfile::tempdir().unwrap();
    let output = within(folder.path(), ":", &["lab", "yield-8", "--runs", "2", "--jobs", "100000"]);
    let reported = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{reported}");
    assert!(
        reported.starts_with("keel: note: --jobs 100000: ") && reported.lines().count() == 1,
        "{reported}"
    );
}
