//! Each kind by small streams: found where its rule is broken, and not where it is kept.

use super::*;
use crate::finding::{Blame, Finding};
use crate::script::play;

/// The findings of a kind, by their sentences.
fn found(limits: Limits, cpus: u32, lines: &str, kind: Kind) -> Vec<Finding> {
    let mut conduct = Conduct::new(limits, 3);
    play(&mut conduct, cpus, lines);
    let all = conduct.into_findings();
    let found = all.into_iter().find(|found| found.kind == kind).expect("every kind is there");
    assert!(found.count >= found.findings.len() as u64);
    let programs = found.findings.iter().filter(|finding| finding.blame == Blame::Program).count() as u64;
    assert!(found.of_programs >= programs);
    found.findings
}

fn check(cpus: u32, lines: &str, kind: Kind, expected: &[&str]) {
    let findings = found(Limits::default(), cpus, lines, kind);
    assert_eq!(findings.iter().map(|f| f.text.as_str()).collect::<Vec<_>>(), expected);
    for finding in findings {
        assert!(finding.events.is_sorted() && !finding.events.is_empty(), "{finding:?}");
    }
}

mod bouncing;
mod delays;
mod locks;
mod realtime;
mod shares;
mod stalls;
mod throttled;
