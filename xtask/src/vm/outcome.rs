//! One object on one kernel: whether it passed, and the words for people and programs.

use super::cases;
use super::expected::{self, Expected, Row, matches};
use super::guest::Found;
use super::objects::BpfObject;
use crate::Failure;
use crate::tree::root;
use serde_json::json;
use std::fmt;

/// Words in the kernel's log that no scheduler of the project may cause.
const COMPLAINTS: &[&str] =
    &["sched_ext", "BUG", "WARNING", "Oops", "stall", "lockup", "deprecated", "Call Trace", "hung task"];

/// An object's outcome on a kernel.
pub(super) struct Outcome {
    /// The kernel's version.
    pub(super) kernel: &'static str,
    /// The object's name.
    pub(super) object: String,
    /// What went well: verified, attached, survived, detached, or refused, ended.
    steps: Vec<&'static str>,
    /// The message of the kernel or the loader.
    words: String,
    /// Why it failed.
    pub(super) fault: Option<String>,
}

impl Outcome {
    #[cfg(test)]
    pub(super) fn with_fault(kernel: &'static str, object: &str, fault: Option<&str>) -> Self {
        let (object, fault) = (object.to_owned(), fault.map(str::to_owned));
        Self { kernel, object, steps: Vec::new(), words: String::new(), fault }
    }

    /// Judges the guest's report.
    pub(super) fn of(
        kernel: &'static str,
        object: &BpfObject,
        found: Option<&Found>,
        expected: &Expected,
    ) -> Self {
        let row = expected.of(&object.name);
        let mut outcome = Self {
            kernel,
            object: object.name.clone(),
            steps: Vec::new(),
            words: String::new(),
            fault: None,
        };
        outcome.fault = match (found, row.outcome) {
            (None, _) => Some("the guest never finished with it".to_owned()),
            (Some(found), _) if !object.cases.is_empty() => outcome.cases(found, object),
            (Some(found), expected::Outcome::Survives) => outcome.survives(found, object.scheduler()),
            (Some(found), expected::Outcome::Refused) => outcome.refused(found, &row),
            (Some(found), expected::Outcome::Ended) => outcome.ended(found, &row),
            (Some(found), expected::Outcome::Hangs) => {
                outcome.step(fact(found, "registered") == "0", "verified", || said(found))
            }
        };
        outcome
    }

    /// Stores a step that went well, or returns why it did not.
    fn step(&mut self, well: bool, step: &'static str, why: impl FnOnce() -> String) -> Option<String> {
        if well {
            self.steps.push(step);
            return None;
        }
        Some(format!("not {step}: {}", why()))
    }

    fn survives(&mut self, found: &Found, name: &str) -> Option<String> {
        let ended = || ending(found, name).unwrap_or_else(|| "the kernel does not say why".into());
        let fault = self.step(fact(found, "registered") == "0", "verified", || said(found));
        let attached = fact(found, "state") == "enabled" && fact(found, "ops") == name;
        let fault = fault.or_else(|| self.step(attached, "attached", ended));
        let fault = fault.or_else(|| self.step(fact(found, "after") == "enabled", "survived", ended));
        let gone = fact(found, "gone");
        let fault =
            fault.or_else(|| self.step(gone == "disabled", "detached", || format!("its state is '{gone}'")));
        fault.or_else(|| complaint(found, name).map(|line| format!("the kernel complains: {line}")))
    }

    fn cases(&mut self, found: &Found, object: &BpfObject) -> Option<String> {
        let fault = cases::fault(&found.said, &object.cases, self.kernel);
        if fault.is_none() {
            self.steps.push("as expected");
            self.words = format!("{} cases", object.cases.len());
        }
        fault.or_else(|| complaint(found, &object.name).map(|line| format!("the kernel complains: {line}")))
    }

    fn refused(&mut self, found: &Found, row: &Row) -> Option<String> {
        let words = found.said.iter().find(|line| matches(&row.words, line));
        self.words = words.cloned().unwrap_or_else(|| said(found));
        if fact(found, "registered") == "0" {
            return Some("it should be refused, but was loaded".into());
        }
        self.steps.push("refused");
        let same = words.is_some() || self.kernel != REFERENCE;
        (!same).then(|| format!("the words should be '{}', but are '{}'", row.words, self.words))
    }

    fn ended(&mut self, found: &Found, row: &Row) -> Option<String> {
        let Some(words) = ending(found, &self.object) else {
            return Some(match fact(found, "registered") {
                "0" => "it should be ended, but survived".into(),
                _ => format!("it should be ended, but was refused: {}", said(found)),
            });
        };
        self.steps.push("ended");
        self.words = words;
        let expected = [row.reason.as_str(), &row.words].map(str::trim).join(": ");
        let expected = expected.trim_end_matches([':', ' ']);
        let same = match self.kernel {
            REFERENCE => matches(expected, &self.words),
            _ => self.words.starts_with(&row.reason),
        };
        (!same).then(|| format!("the words should be '{expected}', but are '{}'", self.words))
    }
}

/// The kernel whose messages count.
const REFERENCE: &str = "7.2";

fn fact<'a>(found: &'a Found, name: &str) -> &'a str {
    found.facts.get(name).map_or("", String::as_str)
}

/// The verifier's verdict, which is before its statistics, or else the loader's last message.
pub(super) fn verdict(said: &[String]) -> String {
    let statistics = said.iter().position(|line| line.starts_with("processed "));
    let output = &said[..statistics.unwrap_or(said.len())];
    let last = output.iter().rev().find(|line| !line.is_empty());
    last.cloned().unwrap_or_else(|| "the loader said nothing".into())
}

fn said(found: &Found) -> String {
    verdict(&found.said)
}

/// Why the kernel ended the scheduler: `reason` or `reason: message`.
fn ending(found: &Found, name: &str) -> Option<String> {
    let start = format!("sched_ext: BPF scheduler \"{name}\" disabled (");
    let reason = found.log.iter().find_map(|line| line.strip_prefix(&start)?.strip_suffix(')'))?;
    if reason == BY_HAND {
        return None;
    }
    let start = format!("sched_ext: {name}: ");
    let message = found.log.iter().find_map(|line| line.strip_prefix(&start));
    Some(message.map_or_else(|| reason.to_owned(), |message| format!("{reason}: {message}")))
}

const BY_HAND: &str = "unregistered from user space";

/// A line of the kernel's log that a scheduler must not cause.
fn complaint<'a>(found: &'a Found, name: &str) -> Option<&'a String> {
    let usual = [
        format!("sched_ext: BPF scheduler \"{name}\" enabled"),
        format!("sched_ext: BPF scheduler \"{name}\" disabled ({BY_HAND})"),
    ];
    found.log.iter().find(|line| COMPLAINTS.iter().any(|word| line.contains(word)) && !usual.contains(line))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.fault.is_some() { "FAIL" } else { "ok  " };
        let mut reported = vec![self.steps.join(", ")];
        reported.extend([self.words.clone(), self.fault.clone().unwrap_or_default()]);
        reported.retain(|words| !words.is_empty());
        write!(f, "{state} {:<23} {}", self.object, reported.join(": "))
    }
}

/// Writes `out/vm.json`.
pub(super) fn write_summary(outcomes: &[Outcome]) -> Result<(), Failure> {
    let rows: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "kernel": outcome.kernel,
                "object": outcome.object,
                "held": outcome.fault.is_none(),
                "steps": outcome.steps,
                "words": outcome.words,
                "fault": outcome.fault,
            })
        })
        .collect();
    let path = root().join("out/vm.json");
    let text = serde_json::to_string_pretty(&json!({ "objects": rows })).expect("plain values") + "\n";
    std::fs::create_dir_all(root().join("out"))
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|e| format!("{}: {e}", path.display()))
}
