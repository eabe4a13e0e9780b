//! The most telling decisions of a run, spread over its time: one of each moment, and moments get longer as the run does.
//!
//! Most telling is one that left things as they should not be: a task went to a busy CPU while another idled, or a balancing moved
//! nothing while a CPU idled and tasks waited. Then others at such moments, then balancings, then the rest.

use crate::follow::Follow;
use keel_report::policy::{group_lines, sentence};
use keel_trace::Policy;
use keel_trace::policy::{Kind, Outcome};
use serde::Serialize;

/// Moments that are kept at most.
const SLOTS: usize = 4096;
/// A moment's first length is 2 to this power, in nanoseconds.
const FIRST_SHIFT: u32 = 10;

/// A decision as the page has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Moment {
    /// Nanoseconds from the run's beginning.
    at: u64,
    /// 3 missed, 2 at a moment of waste, 1 balancing, 0 the rest.
    worth: u8,
    kind: &'static str,
    cpu: u32,
    pid: u32,
    chosen: Option<u32>,
    /// The CPUs looked at: `8,10-12`.
    considered: String,
    text: String,
    groups: Vec<String>,
}

/// One decision a moment.
#[derive(Debug)]
pub(crate) struct Moments {
    slots: Vec<Option<Kept>>,
    shift: u32,
    pub(crate) heard: u64,
}

#[derive(Clone, Debug)]
struct Kept {
    at: u64,
    worth: u8,
    policy: Policy,
}

impl Default for Moments {
    fn default() -> Self {
        Self { slots: Vec::new(), shift: FIRST_SHIFT, heard: 0 }
    }
}

impl Moments {
    /// One more; `follow` is as it was when it was made.
    pub(crate) fn hear(&mut self, at: u64, policy: &Policy, follow: &Follow) {
        self.heard += 1;
        while at >> self.shift >= SLOTS as u64 {
            self.coarsen();
        }
        let slot = (at >> self.shift) as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
        }
        let worth = worth(policy, follow);
        if self.slots[slot].as_ref().is_none_or(|kept| kept.worth < worth) {
            self.slots[slot] = Some(Kept { at, worth, policy: policy.clone() });
        }
    }

    fn coarsen(&mut self) {
        let pair = |pair: &[Option<Kept>]| {
            let best = |a: &Kept, b: &Kept| if b.worth > a.worth { b.clone() } else { a.clone() };
            match (&pair[0], pair.get(1).and_then(Option::as_ref)) {
                (Some(a), Some(b)) => Some(best(a, b)),
                (a, b) => a.as_ref().or(b).cloned(),
            }
        };
        self.slots = self.slots.chunks(2).map(pair).collect();
        self.shift += 1;
    }

    /// All that are kept, by time.
    pub(crate) fn finish(self) -> Vec<Moment> {
        self.slots.into_iter().flatten().map(moment).collect()
    }
}

fn moment(Kept { at, worth, policy }: Kept) -> Moment {
    Moment {
        at,
        worth,
        kind: kind(policy.kind),
        cpu: policy.cpu.0,
        pid: policy.pid.0,
        chosen: policy.chosen.map(|cpu| cpu.0),
        considered: policy.considered.to_string(),
        text: sentence(&policy),
        groups: group_lines(&policy),
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

fn worth(policy: &Policy, follow: &Follow) -> u8 {
    let balancing = policy.kind.is_balancing();
    let (idle, waiting) = follow.idle_and_waiting();
    // A task that is put on a busy CPU waits from then on.
    let crowds = matches!(policy.kind, Kind::Wakeup | Kind::Fork)
        && policy.chosen.is_some_and(|cpu| follow.runnable(cpu) > 0);
    let missed = if balancing { waiting > 0 && policy.outcome != Some(Outcome::Moved) } else { crowds };
    match (idle > 0, missed, waiting > 0) {
        (true, true, _) => 3,
        (true, false, true) => 2,
        _ if balancing => 1,
        _ => 0,
    }
}
