//! The figures of one run, by the workload's names, from `keel check --json`.

use super::kinds::{self, Kinds};
use crate::Failure;
use crate::tree::root;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

/// A run's figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// By name.
    pub(crate) names: BTreeMap<String, Name>,
    /// CPU time of all other tasks together: the scheduler's program, the recorder, the kernel's threads.
    pub(crate) others_share: f64,
    /// Core-seconds idle while a task waited.
    pub(crate) wasted_s: f64,
    /// The findings.
    pub(crate) kinds: Kinds,
}

/// What the tasks of one name did while the workload ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Name {
    /// The number of tasks.
    pub(crate) tasks: u32,
    /// The mean share of a CPU per task: 0 to 1.
    pub(crate) share: f64,
    /// Switches, preemptions and migrations of all tasks.
    pub(crate) counts: [f64; 3],
    /// From a wakeup to running, in milliseconds: the median and the 99th percentile.
    pub(crate) delay_ms: [f64; 2],
    /// Its place in the order of first runs, from 0.
    pub(crate) rank: usize,
}

/// What [`Name::counts`] counts.
pub(crate) const COUNTS: [&str; 3] = ["switches", "preemptions", "migrations"];

impl Figures {
    /// The figures that `keel` finds in a trace, for the names of a workload. Except for the order of first runs, they
    /// cover a part of the trace, counted from the first task's first run.
    pub(crate) fn of(
        keel: &Path,
        trace: &Path,
        names: &[String],
        judged_ms: Range<u64>,
    ) -> Result<Self, Failure> {
        let missing = || format!("{}: a task of the workload never ran", trace.display());
        let first = first_runs(&judged(keel, trace, &[])?, names).ok_or_else(missing)?;
        let begun_ms = first.iter().map(|(at_ns, _)| at_ns / 1_000_000).min().unwrap_or(0);
        let [from, until] = [judged_ms.start, judged_ms.end].map(|ms| format!("{}ms", begun_ms + ms));
        let judged = judged(keel, trace, &["--from", &from, "--until", &until])?;
        read(&judged, first).ok_or_else(missing)
    }

    /// The figures of a part of a trace that may contain several runs, counted from the trace's start.
    pub(super) fn between(
        keel: &Path,
        trace: &Path,
        names: &[String],
        judged_ms: Range<u64>,
    ) -> Result<Self, Failure> {
        let [from, until] = [judged_ms.start, judged_ms.end].map(|ms| format!("{ms}ms"));
        let judged = judged(keel, trace, &["--from", &from, "--until", &until])?;
        let first = names.iter().map(|name| (0, name.clone())).collect();
        read(&judged, first).ok_or_else(|| format!("{}: a task did not run from {from} on", trace.display()))
    }

    /// When each task with one of these names first ran.
    pub(super) fn first_runs_of_all(
        keel: &Path,
        trace: &Path,
        names: &[String],
    ) -> Result<Vec<u64>, Failure> {
        let judged = judged(keel, trace, &[])?;
        let tasks = names.iter().filter_map(|name| of_name(&judged, name)).flatten();
        Ok(tasks.filter_map(|task| task["first_run_ns"].as_u64()).collect())
    }
}

/// The result of `keel check` for a part of a trace.
fn judged(keel: &Path, trace: &Path, range: &[&str]) -> Result<Value, Failure> {
    let output = Command::new(keel)
        .args(["check", "--json"])
        .args(range)
        .arg(trace)
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run keel: {e}"))?;
    if !output.status.success() {
        return Err(format!("{}: {}", trace.display(), String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("{}: keel check's JSON: {e}", trace.display()))
}

/// The tasks of a name.
fn of_name<'a>(judged: &'a Value, name: &str) -> Option<Vec<&'a Value>> {
    Some(judged["tasks"].as_array()?.iter().filter(|task| task["name"] == name).collect())
}

/// When the first task of each of the workload's names first ran, in order of time, or `None` if one never ran.
fn first_runs(judged: &Value, names: &[String]) -> Option<Vec<(u64, String)>> {
    let mut first = Vec::new();
    for name in names {
        let runs = of_name(judged, name)?.into_iter().filter_map(|task| task["first_run_ns"].as_u64());
        first.push((runs.min()?, name.clone()));
    }
    first.sort();
    Some(first)
}

/// `None` if a name is missing.
fn read(judged: &Value, first: Vec<(u64, String)>) -> Option<Figures> {
    let lasted_ns = judged["duration_ns"].as_f64()?;
    let mut names = BTreeMap::new();
    for (rank, (_, name)) in first.into_iter().enumerate() {
        let tasks = of_name(judged, &name).filter(|tasks| !tasks.is_empty())?;
        let sum = |field: &str| tasks.iter().filter_map(|task| task[field].as_f64()).sum::<f64>();
        let delay = judged["names"].as_array()?.iter().find(|of| of["name"] == name.as_str());
        let delay_ms = ["p50", "p99"]
            .map(|q| delay.map_or(0.0, |d| d["wakeup_delay_ns"][q].as_f64().unwrap_or(0.0) / 1e6));
        let share = sum("cpu_ns") / lasted_ns / tasks.len() as f64;
        let figures = Name { tasks: tasks.len() as u32, share, counts: COUNTS.map(sum), delay_ms, rank };
        names.insert(name, figures);
    }
    let wasted_s = judged["wasted_core_ns"].as_f64()? / 1e9;
    let others_share = others_ns(judged, &names)? / lasted_ns;
    Some(Figures { names, others_share, wasted_s, kinds: kinds::read(judged) })
}

/// The CPU time of all tasks with other names.
fn others_ns(judged: &Value, names: &BTreeMap<String, Name>) -> Option<f64> {
    let is_other = |task: &&Value| task["name"].as_str().is_none_or(|name| !names.contains_key(name));
    Some(judged["tasks"].as_array()?.iter().filter(is_other).filter_map(|task| task["cpu_ns"].as_f64()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tasks_of_a_name_are_summed_and_others_left_out() {
        let task = |name: &str, first_run_ns: u64, cpu_ns: u64| {
            json!({"name": name, "first_run_ns": first_run_ns, "cpu_ns": cpu_ns,
                   "switches": 3, "preemptions": 1, "migrations": 2})
        };
        let delay = json!({"name": "b", "wakeup_delay_ns": {"p50": 2e6, "p99": 5e6}});
        let judged = json!({
            "tasks": [task("a", 9, 1_000_000_000), task("b", 7, 500_000_000), task("b", 5, 700_000_000), task("c", 1, 800_000_000)],
            "names": [delay], "wasted_core_ns": 250_000_000, "duration_ns": 2_000_000_000,
        });
        let first = first_runs(&judged, &["a".to_owned(), "b".to_owned()]).unwrap();
        assert_eq!(first, [(5, "b".to_owned()), (9, "a".to_owned())]);
        let figures = read(&judged, first).unwrap();
        let b = Name { tasks: 2, share: 0.3, counts: [6.0, 2.0, 4.0], delay_ms: [2.0, 5.0], rank: 0 };
        assert_eq!((figures.wasted_s, &figures.names["b"]), (0.25, &b));
        assert_eq!(figures.others_share, 0.4);
        assert_eq!((figures.names.len(), figures.names["a"].share, figures.names["a"].rank), (2, 0.5, 1));
        assert_eq!(first_runs(&judged, &["z".to_owned()]), None);
    }
}
