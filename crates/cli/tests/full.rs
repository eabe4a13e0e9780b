//! Full disks and small limits: the verdict is kept, and what could not be written is named once.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs keel within what a shell sets first.
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
    let room = tempfile::tempdir().unwrap();
    let whole = within(room.path(), ":", &[SIM, &["--json"]].concat());
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
        let output = within(room.path(), limits, &[SIM, &["--json", option, file]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option} {file}: {told}");
        assert_eq!(told.matches(file).count(), 1, "{option}: {told}");
        assert!(told.contains(&format!("{file} cannot be written: {why}\n")), "{option}: {told}");
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(run["switches"], whole["switches"], "{option} {file}");
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0, "{option} {file} leaves nothing");
    }
}

#[test]
fn one_full_file_leaves_the_others() {
    let room = tempfile::tempdir().unwrap();
    let args = [SIM, &["--trace", "/dev/full", "--report", "p.svg"]].concat();
    let output = within(room.path(), ":", &args);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(room.path().join("p.svg").exists());
}

#[test]
fn many_runs_keep_their_table_on_a_full_disk() {
    let room = tempfile::tempdir().unwrap();
    let compare = ["compare", "fifo,cfs", "--runs", "1", "--duration", "50ms", "--report", "/dev/full"];
    for args in [&compare[..], &["lab", "yield-8", "--runs", "1", "--report", "/dev/full"]] {
        let output = within(room.path(), ":", args);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert_eq!(told, "keel: /dev/full cannot be written: no space left on device\n", "{args:?}");
        assert!(output.stdout.len() > 200, "{args:?}: {}", text(&output.stdout));
    }
}

#[test]
fn too_little_address_space_is_reported_in_readable_units() {
    let room = tempfile::tempdir().unwrap();
    let output = within(room.path(), "ulimit -v 4000000", SIM);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("18.5 GiB") && told.contains("ulimit -v unlimited"), "{told}");
    // Enough for one run at a time, on however many CPUs.
    let compare = ["compare", "fifo,cfs", "--runs", "3", "--duration", "20ms"];
    let output = within(room.path(), "ulimit -v 26000000", &compare);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn more_jobs_than_make_sense_are_fewer() {
    let room = tempfile::tempdir().unwrap();
    let output = within(room.path(), ":", &["lab", "yield-8", "--runs", "2", "--jobs", "100000"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.starts_with("keel: note: --jobs 100000: ") && told.lines().count() == 1, "{told}");
}
