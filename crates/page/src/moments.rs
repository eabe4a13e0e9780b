//! Puts the run's most informative decisions into the page.

use keel_report::notable::{Kept, Worth};
use keel_report::policy::{group_lines, sentence};
use keel_trace::policy::Kind;
use serde::Serialize;

/// A decision in the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Moment {
    /// Nanoseconds from the start of the run.
    at: u64,
    /// Its importance: 3 missed, 2 during waste, 1 balancing, 0 the rest.
    worth: u8,
    kind: &'static str,
    cpu: u32,
    pid: u32,
    chosen: Option<u32>,
    /// The CPUs that it looked at: `8,10-12`.
    considered: String,
    text: String,
    groups: Vec<String>,
}

impl Moment {
    pub(crate) fn of(Kept { at, worth, policy }: &Kept) -> Self {
        Self {
            at: *at,
            worth: match worth {
                Worth::Rest => 0,
                Worth::Balancing => 1,
                Worth::AtWaste => 2,
                Worth::Missed => 3,
            },
            kind: kind(policy.kind),
            cpu: policy.cpu.0,
            pid: policy.pid.0,
            chosen: policy.chosen.map(|cpu| cpu.0),
            considered: policy.considered.to_string(),
            text: sentence(policy),
            groups: group_lines(policy),
        }
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Balance => "balance",
        Kind::NewIdle => "newidle",
        Kind::Nohz => "nohz",
        Kind::Wakeup => "wakeup",
        Kind::Fork => "fork",
        Kind::Domains => "domains",
    }
}
