//! The output of `keel watch`: lines of JSON, lines of text, and a screen for terminals.
//! docs/reference/json-recordings.md lists the fields.

mod screen;
mod text;

pub use screen::{Now, screen};
pub use text::line;

use crate::looked_at::LookedAtReport;
use serde::Serialize;
use std::collections::BTreeMap;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WatchLine {
    /// The first one.
    Begin(WatchBegin),
    /// A confirmed suspicion: cores idled while tasks waited, and nothing resolved it.
    Finding(WatchFinding),
    /// A suspicion that was resolved.
    Cured(WatchCured),
    /// A suspicion whose recording is incomplete.
    Unsure(WatchUnsure),
    /// The last one.
    End(WatchEnd),
}

/// The subject of the watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchBegin {
    /// The attached scheduler, or the kernel release.
    pub scheduler: String,
    /// The number of CPUs that the machine may have.
    pub cpus: u32,
    /// The time between two samples.
    pub every_ns: u64,
    /// How long a suspicion is watched.
    pub confirm_ns: u64,
    /// When it began: nanoseconds since 1970.
    pub unix_ns: u64,
}

/// A task that waited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WatchTask {
    /// Its pid.
    pub pid: u32,
    /// Its name: untrusted text.
    pub name: String,
    /// The CPU on whose runqueue it waited.
    pub cpu: Option<u32>,
}

/// A finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchFinding {
    /// When it was confirmed, from the start.
    pub at_ns: u64,
    /// The scheduler.
    pub scheduler: String,
    /// The CPUs that idled.
    pub cpus: Vec<u32>,
    /// The first of the tasks that waited when it was suspected, and that these CPUs could have run.
    pub tasks: Vec<WatchTask>,
    /// The number of such tasks.
    pub tasks_waiting: u64,
    /// How long it was watched.
    pub watched_ns: u64,
    /// Core time wasted on the whole machine in that time.
    pub wasted_core_ns: u64,
    /// The CPUs that balancings for these CPUs and placements of these tasks looked at in the first 20 ms of the
    /// recording. Only if the fair class schedules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub looked_at: Vec<LookedAtReport>,
    /// The path of the recording; null if none was kept.
    pub recording: Option<String>,
    /// One sentence, safe to print.
    pub text: String,
}

/// A suspicion that was resolved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchCured {
    /// When that was known, from the start.
    pub at_ns: u64,
    /// The CPUs that were suspected.
    pub cpus: Vec<u32>,
    /// How long it lasted after the watch on it began.
    pub after_ns: u64,
    /// What resolved it.
    pub by: String,
}

/// A suspicion that could be neither confirmed nor resolved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchUnsure {
    /// When that was known, from the start.
    pub at_ns: u64,
    /// The CPUs that were suspected.
    pub cpus: Vec<u32>,
    /// The number of events that were lost because the recorder's buffers were full.
    pub lost_events: u64,
}

/// The summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchEnd {
    /// How long it was watched.
    pub duration_ns: u64,
    /// The number of samples of all CPUs.
    pub looks: u64,
    /// The number of samples that found an idle CPU while a task that it could run waited.
    pub suspicions: u64,
    /// The number of suspicions that a second sample, shortly after, did not confirm.
    pub passing: u64,
    /// The number of suspicions that were watched and resolved, by how they were resolved.
    pub cured: BTreeMap<String, u64>,
    /// The number of suspicions that could be neither confirmed nor resolved.
    pub unsure: u64,
    /// The number of suspicions that were confirmed.
    pub findings: u64,
    /// The number of recordings that were kept.
    pub recordings: u64,
    /// The cost of watching.
    pub cost: WatchCost,
}

/// The cost of watching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WatchCost {
    /// CPU time of keel itself, including samples but not the loading of its programs.
    pub process_ns: u64,
    /// CPU time spent loading its programs, once.
    pub load_ns: u64,
    /// CPU time of its programs in the context of other tasks; null if the kernel does not report it.
    pub programs_ns: Option<u64>,
    /// `process_ns` and `programs_ns` as a share of one CPU's time.
    pub share_of_a_cpu: f64,
    /// The maximum share that is allowed.
    pub allowed_share: f64,
}

#[cfg(test)]
mod tests;
