//! Compares the kinds of findings in a run. Either they are the same on both kernels, or something is simulated that
//! does not happen, or the other way round.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The findings by kind.
pub(crate) type Kinds = BTreeMap<String, Found>;

/// Findings of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// The number of findings.
    pub(crate) count: u64,
    /// The longest, in seconds.
    pub(crate) longest_s: f64,
}

/// The findings of `keel check --json` that can also occur in a recording of a real kernel.
pub(super) fn read(judged: &Value) -> Kinds {
    let total = judged["findings_total"].as_object().into_iter().flatten();
    total
        .filter_map(|(kind, total)| {
            let found = |of_spinlocks| {
                let all = judged["findings"].as_array().into_iter().flatten();
                all.filter(move |found| found["kind"] == *kind && is_of_spinlock(found) == of_spinlocks)
            };
            let count = total.as_u64().unwrap_or(0).saturating_sub(found(true).count() as u64);
            let longest_s =
                found(false).filter_map(|found| found["duration_ns"].as_f64()).fold(0.0, f64::max) / 1e9;
            (count > 0).then(|| (kind.clone(), Found { count, longest_s }))
        })
        .collect()
}

/// Whether a CPU, not a task, waited for a lock. No tracepoint of a real kernel shows such a wait.
fn is_of_spinlock(found: &Value) -> bool {
    found["kind"] == "lock_wait" && found["tasks"].as_array().is_some_and(Vec::is_empty)
}

/// The kinds that only one of the runs has.
pub(super) fn apart<'a>(a: &'a Kinds, b: &'a Kinds) -> BTreeSet<&'a str> {
    let only = |a: &'a Kinds, b: &'a Kinds| a.keys().filter(|kind| !b.contains_key(*kind));
    only(a, b).chain(only(b, a)).map(String::as_str).collect()
}

/// The number of findings, and the length of the longest.
pub(super) fn cell(kinds: &Kinds, kind: &str) -> String {
    kinds.get(kind).map_or("0".to_owned(), |found| format!("{}, {:.3}", found.count, found.longest_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_are_read_and_compared() {
        let found = |kind: &str, ns: u64| json!({ "kind": kind, "duration_ns": ns });
        let judged = json!({
            "findings_total": { "starvation": 0, "wasted_core": 30 },
            "findings": [found("wasted_core", 500_000_000), found("wasted_core", 2_000_000_000)],
        });
        let kinds = read(&judged);
        assert_eq!(kinds, [("wasted_core".to_owned(), Found { count: 30, longest_s: 2.0 })].into());
        assert_eq!(
            (cell(&kinds, "wasted_core"), cell(&kinds, "starvation")),
            ("30, 2.000".into(), "0".into())
        );
        assert!(apart(&kinds, &kinds).is_empty());
        let other: Kinds = [("starvation".to_owned(), Found::default())].into();
        assert_eq!(apart(&kinds, &other).into_iter().collect::<Vec<_>>(), ["starvation", "wasted_core"]);
        assert!(read(&Value::Null).is_empty());
    }
    #[test]
    fn waits_of_cpus_for_spinlocks_are_left_out() {
        let check = |tasks: Value, expected: u64| {
            let judged = json!({
                "findings_total": { "lock_wait": 1 },
                "findings": [{ "kind": "lock_wait", "duration_ns": 1_200_000, "tasks": tasks }],
            });
            assert_eq!(read(&judged).get("lock_wait").map_or(0, |found| found.count), expected);
        };
        check(json!([]), 0);
        check(json!([12, 13]), 1);
    }
}
