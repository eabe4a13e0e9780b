//! Each kind by small streams: found where its rule is broken, and not where it is kept.

use super::*;
use crate::script::play;

/// The findings of a kind, by their sentences.
fn found(limits: Limits, cpus: u32, lines: &str, kind: Kind) -> Vec<Finding> {
    let mut conduct = Conduct::new(limits, 3);
    play(&mut conduct, cpus, lines);
    let all = conduct.findings();
    let (_, findings, count) = all.into_iter().find(|(each, ..)| *each == kind).expect("every kind is there");
    assert!(count >= findings.len() as u64);
    findings
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
