//! Recordings by other tools: reads, judges and displays them as `keel check` does.

use keel_check::Judge;
use keel_report::{CheckReport, RunFacts, RunReport, Style};
use std::io::Cursor;

/// Runs the target on one recording by another tool.
pub fn run(input: &[u8]) {
    let mut judge = Judge::default();
    let recording = match keel_readers::read(Cursor::new(input), &mut judge) {
        Ok(recording) => recording,
        Err(keel_readers::ReadError::Io(error)) => panic!("memory can be read: {error}"),
        Err(error) => return plain(&error.to_string()),
    };
    recording.notes.iter().for_each(|note| plain(note));
    let facts = RunFacts { scheduler: "s".into(), workload: "w".into(), ..RunFacts::default() };
    let report = CheckReport::new(RunReport::new(&facts, &judge.judgement()), 1, recording.lost);
    let report = report.of(recording.kind.name(), recording.notes, &recording.doubts);
    let shown = report.text(Style { width: 80, colour: false });
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "a control character: {shown:?}");
    serde_json::to_string(&report).expect("reports have only string keys");
}

fn plain(text: &str) {
    assert!(!text.is_empty() && !text.contains(char::is_control), "no sentence: {text:?}");
}
