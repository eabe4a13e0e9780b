//! Replays the fuzzer's seeds, the inputs that it kept, and its findings. None may panic or hang, also in a build
//! without a fuzzer's instrumentation.
#![forbid(unsafe_code)]

use keel_hostile::{TARGETS, call, seeds};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The maximum time for one case. Even on the slowest host, only an endless loop takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The inputs that the fuzzer kept and those that it found, in one folder per target.
const FOLDERS: [&str; 2] = ["corpus", "regressions"];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the files of a folder by name. Empty if there is no such folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut files: Vec<_> = paths
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("the file can be read")))
        .collect();
    files.sort();
    files
}

/// Passes every input to the target on a separate thread, so that a panic or a hang is reported with its case.
fn all_end(target: &'static str, inputs: Vec<(String, Vec<u8>)>) {
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || {
        for (name, input) in inputs {
            sender.send(name).expect("the test listens");
            call(target, &input);
        }
    });
    let mut current = String::new();
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(name) => current = name,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("{target}: {current}: does not end"),
        }
    }
    worker.join().unwrap_or_else(|_| panic!("{target}: {current}: panicked; its message is above"));
}

fn replay(target: &'static str) {
    let kept = FOLDERS.map(|folder| files(&fuzz().join(folder).join(target)));
    assert!(!kept[0].is_empty(), "{target}: nothing is kept in fuzz/corpus");
    all_end(target, kept.concat());
}

#[test]
fn kept_experiments_end() {
    replay("experiment");
}

#[test]
fn kept_machines_end() {
    replay("machine");
}

#[test]
fn kept_objects_end() {
    replay("object");
}

#[test]
fn kept_recipes_end() {
    replay("recipe");
}

#[test]
fn kept_recordings_end() {
    replay("recording");
}

#[test]
fn kept_replays_end() {
    replay("replay");
}

#[test]
fn kept_runs_end() {
    replay("run");
}

#[test]
fn kept_traces_end() {
    replay("trace");
}

#[test]
fn kept_workloads_end() {
    replay("workload");
}

#[test]
fn seeds_end() {
    for target in TARGETS {
        let own = seeds::all().into_iter().filter(|(of, ..)| *of == target.name);
        all_end(target.name, own.map(|(_, name, bytes)| (name, bytes)).collect());
    }
}

#[test]
fn every_target_has_a_program_and_a_test() {
    let here = include_str!("corpus.rs");
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).expect("fuzz/Cargo.toml can be read");
    let programs = files(&fuzz().join("fuzz_targets"));
    assert_eq!(programs.len(), TARGETS.len());
    for target in TARGETS {
        let program = String::from_utf8_lossy(
            &programs
                .iter()
                .find(|(path, _)| path.ends_with(&format!("/{}.rs", target.name)))
                .expect("it has a program")
                .1,
        )
        .into_owned();
        assert!(program.contains(&format!(" keel_hostile::{}(input)", target.name)), "{program}");
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
        assert!(here.contains(&format!("replay(\"{}\")", target.name)), "{}", target.name);
    }
}
