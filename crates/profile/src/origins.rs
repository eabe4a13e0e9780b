//! A profile by the caller of the scheduler.

use crate::model::Profile;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The costs of calls of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Origin {
    /// The caller: `ops.enqueue`, `timer`.
    pub(crate) name: String,
    /// Their total cost, in picoseconds.
    pub(crate) ps: u64,
    pub(crate) calls: u64,
    pub(crate) instructions: u64,
}

/// Returns a row for each caller of the scheduler, the longest time first.
pub(crate) fn origins(profile: &Profile) -> Vec<Origin> {
    let mut by = BTreeMap::<&str, Origin>::new();
    for node in profile.in_callbacks() {
        let sum = by
            .entry(&node.origin)
            .or_insert_with(|| Origin { name: node.origin.clone(), ..Origin::default() });
        sum.ps += node.ps(profile.insn_ps);
        sum.calls += if node.caller.is_none() { node.calls } else { 0 };
        sum.instructions += node.counts.iter().map(|count| count.executed).sum::<u64>();
    }
    let mut all: Vec<Origin> = by.into_values().collect();
    all.sort_by_key(|origin| Reverse(origin.ps));
    all
}
