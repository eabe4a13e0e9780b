//! Shows how the cost of a scheduler's decisions grows with waiting tasks and with CPUs, as a table, JSON and a chart.

pub mod chart;
mod sweep;
mod table;

pub use sweep::{CallbackReport, SizeReport, SweepReport, TogetherReport, TogetherSize};
pub use table::table;

use keel_abi::Span;
use keel_check::DecisionCost;
use serde::Serialize;

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The number of waiting tasks; the machine stays the same.
    Tasks,
    /// The number of CPUs, and with it the number of tasks.
    Cpus,
}

/// The size at which something was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// The number of tasks.
    pub tasks: u32,
    /// The number of CPUs.
    pub cpus: u32,
}

impl Size {
    /// Returns the number that grows along this axis.
    pub const fn along(self, axis: Axis) -> u32 {
        match axis {
            Axis::Tasks => self.tasks,
            Axis::Cpus => self.cpus,
        }
    }
}

/// One scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionsReport {
    /// The scheduler.
    pub scheduler: String,
    /// The machine on which an increasing number of tasks wait.
    pub machine: String,
    /// The costs as more tasks wait there.
    #[serde(flatten)]
    pub by_tasks: SweepReport,
    /// The costs as machines get more CPUs.
    pub by_cpus: SweepReport,
}

impl DecisionsReport {
    /// Returns an empty report.
    pub fn new(scheduler: &str, machine: &str) -> Self {
        let [by_tasks, by_cpus] = [(); 2].map(|()| SweepReport::default());
        Self { scheduler: scheduler.to_owned(), machine: machine.to_owned(), by_tasks, by_cpus }
    }

    /// Adds the costs of callbacks at one size, and the time per dispatch of all callbacks together. Sizes must ascend.
    pub fn add(&mut self, axis: Axis, size: Size, costs: &[DecisionCost], together: Option<Span>) {
        let sweep = match axis {
            Axis::Tasks => &mut self.by_tasks,
            Axis::Cpus => &mut self.by_cpus,
        };
        sweep.add(axis, size, costs, together);
    }

    /// Returns the measurements along an axis.
    pub fn along(&self, axis: Axis) -> &SweepReport {
        match axis {
            Axis::Tasks => &self.by_tasks,
            Axis::Cpus => &self.by_cpus,
        }
    }
}

#[cfg(test)]
mod tests;
