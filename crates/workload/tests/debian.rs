//! The examples of Debian's rt-app package: which compile, to what, and why others do not. Skipped if the package is
//! not installed.
#![expect(clippy::disallowed_methods, reason = "a test may read the files that it is about")]

mod common;

use common::{heading, listing};
use keel_abi::Topology;
use keel_abi::task::TaskSpec;
use keel_workload::parse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "/usr/share/doc/rt-app/examples";

fn json_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        match path.is_dir() {
            true => json_files(&path, found),
            false if path.extension().is_some_and(|e| e == "json") => found.push(path),
            false => {}
        }
    }
}

/// How many steps of each kind a task has.
fn kinds(task: &TaskSpec) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for step in &task.steps {
        let kind = format!("{step:?}").chars().take_while(char::is_ascii_alphabetic).collect();
        *counts.entry(kind).or_default() += 1;
    }
    counts.iter().map(|(kind, count)| format!(" {kind} {count}")).collect()
}

/// FNV-1a, so that a change of any step is noticed.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn reported(name: &str, text: &str) -> String {
    match parse(name, text, &Topology::flat(8)) {
        Err(error) => format!("refused: {error}\n"),
        Ok((workload, warnings)) => {
            let mut reported = format!("{name}: {:016x}\n", digest(&listing(&workload, &[])));
            for task in &workload.tasks {
                writeln!(reported, "    {}:{}", heading(task), kinds(task)).unwrap();
            }
            warnings.iter().for_each(|warning| writeln!(reported, "  ! {warning}").unwrap());
            reported
        }
    }
}

#[test]
fn debians_examples() {
    let mut files = Vec::new();
    json_files(Path::new(EXAMPLES), &mut files);
    if files.is_empty() {
        eprintln!("skipped: {EXAMPLES} is missing");
        return;
    }
    files.sort();
    let reported: String = files
        .iter()
        .map(|path| {
            let name = path.strip_prefix(EXAMPLES).unwrap().to_string_lossy();
            reported(&name, &fs::read_to_string(path).unwrap())
        })
        .collect();
    insta::assert_snapshot!(reported);
}
