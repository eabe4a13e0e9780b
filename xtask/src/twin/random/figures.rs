//! The figures of a run that are compared: for each of the workload's names, and for the whole.

use super::workload::Workload;
use crate::twin::figures::Figures;
use crate::{Failure, cargo};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// The part of a run that is judged, from the first task's first run on.
const JUDGED_MS: Range<u64> = 500..3500;

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Run {
    /// By name.
    pub(super) names: BTreeMap<String, Row>,
    /// Core-seconds idle while a task waited.
    pub(super) wasted_s: f64,
}

/// What the tasks of one name did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    /// Each instance's share of a CPU: 0 to 1.
    pub(super) share: f64,
    /// Switches, preemptions and migrations of all.
    pub(super) counts: [f64; 3],
    /// From a wakeup to running: the median and the 99th percentile.
    pub(super) delay_ms: [f64; 2],
}

impl Run {
    /// From a recording or a trace.
    ///
    /// # Errors
    /// If it cannot be read, or a task never ran.
    pub(super) fn of(trace: &Path, workload: &Workload) -> Result<Self, Failure> {
        let figures = Figures::of(&cargo::built("keel")?, trace, &workload.names(), JUDGED_MS)?;
        let row = |name: &String| {
            let of = &figures.names[name];
            let share = of.share * f64::from(of.tasks) / f64::from(workload.instances(name));
            (name.clone(), Row { share, counts: of.counts, delay_ms: of.delay_ms })
        };
        Ok(Self { names: workload.names().iter().map(row).collect(), wasted_s: figures.wasted_s })
    }

    /// All names together: CPU time in CPUs, counts, and the mean of the names' delays, weighted by how often they
    /// slept.
    pub(super) fn all(&self, workload: &Workload) -> Row {
        let mut all = Row::default();
        let slept: f64 = self.names.values().map(Row::slept).sum();
        for (name, row) in &self.names {
            all.share += row.share * f64::from(workload.instances(name));
            (0..3).for_each(|at| all.counts[at] += row.counts[at]);
            (0..2).for_each(|at| all.delay_ms[at] += row.delay_ms[at] * row.slept());
        }
        all.delay_ms = all.delay_ms.map(|sum| sum / slept.max(1.0));
        all
    }
}

impl Row {
    /// How often its tasks slept and so were woken: switches that were not preemptions.
    pub(super) fn slept(&self) -> f64 {
        self.counts[0] - self.counts[1]
    }
}
