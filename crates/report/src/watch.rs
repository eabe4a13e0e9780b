//! What `keel watch` prints: lines of JSON, lines of text, and a screen for terminals.
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
    /// Cores idled while tasks waited, and nothing resolved it.
    Finding(WatchFinding),
    /// It looked so, and was resolved.
    Cured(WatchCured),
    /// It looked so, and what followed was not all recorded.
    Unsure(WatchUnsure),
    /// The last one.
    End(WatchEnd),
}

/// What is watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchBegin {
    /// The attached scheduler, or the kernel's release.
    pub scheduler: String,
    /// CPUs that the machine may have.
    pub cpus: u32,
    /// From one look to the next.
    pub every_ns: u64,
    /// How long a suspicion is watched.
    pub confirm_ns: u64,
    /// When it began: nanoseconds since 1970.
    pub unix_ns: u64,
}

/// A task that waited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WatchTask {
    /// Its number.
    pub pid: u32,
    /// Its name: untrusted text.
    pub name: String,
    /// The CPU on whose runqueue it waited.
    pub cpu: Option<u32>,
}

/// A finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchFinding {
    /// When it was confirmed, since the beginning.
    pub at_ns: u64,
    /// Who scheduled.
    pub scheduler: String,
    /// The CPUs that idled.
    pub cpus: Vec<u32>,
    /// Tasks that waited when it was suspected, and that these CPUs could have run: the first of them.
    pub tasks: Vec<WatchTask>,
    /// How many there were.
    pub tasks_waiting: u64,
    /// How long it was watched.
    pub watched_ns: u64,
    /// Core time wasted meanwhile on the whole machine.
    pub wasted_core_ns: u64,
    /// What balancings for these CPUs and placements of these tasks looked at in the first 20 ms of the recording. Only where
    /// the fair class schedules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub looked_at: Vec<LookedAtReport>,
    /// Where the recording is; null where none was kept.
    pub recording: Option<String>,
    /// One sentence, safe to print.
    pub text: String,
}

/// A suspicion that came to nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchCured {
    /// When that was known, since the beginning.
    pub at_ns: u64,
    /// The CPUs that were suspected.
    pub cpus: Vec<u32>,
    /// How long it lasted from when it was watched.
    pub after_ns: u64,
    /// What resolved it.
    pub by: String,
}

/// A suspicion of which nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchUnsure {
    /// When that was known, since the beginning.
    pub at_ns: u64,
    /// The CPUs that were suspected.
    pub cpus: Vec<u32>,
    /// Events that the recording had no room for.
    pub lost_events: u64,
}

/// All in all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchEnd {
    /// How long it was watched.
    pub duration_ns: u64,
    /// Looks at all CPUs.
    pub looks: u64,
    /// Those at which a CPU idled while a task waited that it could run.
    pub suspicions: u64,
    /// Suspicions that were over at a second look, a moment later.
    pub passing: u64,
    /// Suspicions that were watched and resolved, by what.
    pub cured: BTreeMap<String, u64>,
    /// Suspicions of which nothing is known.
    pub unsure: u64,
    /// Suspicions that were confirmed.
    pub findings: u64,
    /// Recordings that were kept.
    pub recordings: u64,
    /// What it took.
    pub cost: WatchCost,
}

/// What watching took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WatchCost {
    /// CPU time of keel itself, looks included, and the loading of its programs left out.
    pub process_ns: u64,
    /// CPU time to load its programs, once.
    pub load_ns: u64,
    /// CPU time of its programs in others' context; null where the kernel does not say.
    pub programs_ns: Option<u64>,
    /// `process_ns` and `programs_ns` as a share of one CPU's time.
    pub share_of_a_cpu: f64,
    /// The share that it may take.
    pub allowed_share: f64,
}

#[cfg(test)]
mod tests;
