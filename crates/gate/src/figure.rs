//! The figures that are compared with a baseline's: which direction is worse, and which changes are too small to
//! matter.
//!
//! Counts and costs are taken per unit of the workload's work if it counts any, so that a scheduler that gets more done
//! is not blamed for the switches that this needs. Otherwise they are taken per second.

use crate::baseline::PastRun;
use crate::budget::shown;
use keel_check::Kind;

/// A figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Units of work per second.
    Throughput,
    /// The median delay from a wakeup to running.
    DelayP50,
    /// The 99th percentile of the delay from a wakeup to running.
    DelayP99,
    /// The 99th percentile of the delay, for the tasks with this name.
    NameDelay(String),
    /// Context switches.
    Switches,
    /// Tasks that started on a CPU other than the one that they last ran on.
    Migrations,
    /// Tasks that lost their CPU while they wanted to run.
    Preemptions,
    /// Wasted core time, as a share of the machine's.
    WastedShare,
    /// Time in the scheduler's callbacks.
    CallbackTime,
    /// BPF instructions.
    Instructions,
    /// Time that CPUs waited for locks.
    LockWait,
    /// Invalid memory accesses.
    BadAccesses,
    /// Findings of this kind.
    Findings(Kind),
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number.
    Plain,
    /// Nanoseconds.
    Ns,
    /// A share, 0 to 1.
    Share,
}

/// The base of counts and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Per unit of work.
    Unit,
    /// Per second.
    Second,
}

/// The stable names for which limits are given.
pub const KEYS: [&str; 13] = [
    "throughput",
    "wakeup_delay_p50",
    "wakeup_delay_p99",
    "name_delay_p99",
    "switches",
    "migrations",
    "preemptions",
    "wasted_share",
    "callback_time",
    "instructions",
    "lock_wait",
    "bad_accesses",
    "findings",
];

/// A median delay that changes by less than this counts as equal: one interrupt more or less.
const P50_FLOOR_NS: f64 = 1_000.0;
/// The same for the 99th percentile.
const P99_FLOOR_NS: f64 = 10_000.0;
/// As a share of the machine's time: smaller changes of waste don't count.
const WASTE_FLOOR: f64 = 0.001;
/// As a share of the machine's time: smaller changes of costs don't count.
const COST_FLOOR: f64 = 0.0001;
/// Per second and CPU: smaller changes of counts don't count.
const COUNT_FLOOR: f64 = 1.0;

impl Figure {
    /// The figures of every run, except those of names and kinds.
    pub(crate) const COMMON: [Self; 11] = [
        Self::Throughput,
        Self::DelayP50,
        Self::DelayP99,
        Self::Switches,
        Self::Migrations,
        Self::Preemptions,
        Self::WastedShare,
        Self::CallbackTime,
        Self::Instructions,
        Self::LockWait,
        Self::BadAccesses,
    ];

    /// Returns the name by which its limit is given: one of [`KEYS`].
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::DelayP50 => "wakeup_delay_p50",
            Self::DelayP99 => "wakeup_delay_p99",
            Self::NameDelay(_) => "name_delay_p99",
            Self::Switches => "switches",
            Self::Migrations => "migrations",
            Self::Preemptions => "preemptions",
            Self::WastedShare => "wasted_share",
            Self::CallbackTime => "callback_time",
            Self::Instructions => "instructions",
            Self::LockWait => "lock_wait",
            Self::BadAccesses => "bad_accesses",
            Self::Findings(_) => "findings",
        }
    }

    /// Returns its key and its task name or kind: `name_delay_p99 of worker`, `findings of stall`. Safe to print.
    pub fn name(&self) -> String {
        match self {
            Self::NameDelay(name) => format!("{} of {}", self.key(), shown(name)),
            Self::Findings(kind) => format!("{} of {}", self.key(), kind.name()),
            _ => self.key().to_owned(),
        }
    }

    /// Returns whether less is worse.
    pub const fn more_is_better(&self) -> bool {
        matches!(self, Self::Throughput)
    }

    /// Returns its unit.
    pub const fn unit(&self) -> Unit {
        match self {
            Self::DelayP50 | Self::DelayP99 | Self::NameDelay(_) | Self::CallbackTime | Self::LockWait => {
                Unit::Ns
            }
            Self::WastedShare => Unit::Share,
            _ => Unit::Plain,
        }
    }

    /// Returns whether it is taken per unit of work, or per second.
    pub const fn is_rate(&self) -> bool {
        matches!(
            self,
            Self::Switches
                | Self::Migrations
                | Self::Preemptions
                | Self::CallbackTime
                | Self::Instructions
                | Self::LockWait
        )
    }

    /// Returns the figure of one run, or `None` if the run does not have it.
    pub(crate) fn value(&self, run: &PastRun, per: Per) -> Option<f64> {
        let each = |n: u64| n as f64 / whole(run, per);
        Some(match self {
            Self::Throughput => run.throughput_total as f64 / whole(run, Per::Second),
            Self::DelayP50 => run.wakeup_delay_ns.p50 as f64,
            Self::DelayP99 => run.wakeup_delay_ns.p99 as f64,
            Self::NameDelay(name) => {
                let named = run.names.iter().find(|named| named.name == *name)?;
                return (named.woken > 0).then_some(named.wakeup_delay_ns.p99 as f64);
            }
            Self::Switches => each(run.switches),
            Self::Migrations => each(run.migrations),
            Self::Preemptions => each(run.preemptions),
            Self::WastedShare => run.wasted_share,
            Self::CallbackTime => each(run.overhead.callback_ns),
            Self::Instructions => each(run.overhead.instructions),
            Self::LockWait => each(run.overhead.lock_wait_ns),
            Self::BadAccesses => run.bad_accesses as f64,
            Self::Findings(kind) => run.findings_total.get(kind.name()).copied().unwrap_or(0) as f64,
        })
    }

    /// Returns the absolute change that is too small to matter. `base` is the figure's value in the baseline, and `run`
    /// is one of the baseline's runs.
    pub(crate) fn floor(&self, base: f64, run: &PastRun, per: Per) -> f64 {
        let (seconds, cpus) = (run.duration_ns as f64 / 1e9, f64::from(run.cpus));
        let each = |in_all: f64| in_all / whole(run, per);
        match self {
            Self::Throughput | Self::BadAccesses => 0.0,
            Self::DelayP50 => P50_FLOOR_NS,
            Self::DelayP99 | Self::NameDelay(_) => P99_FLOOR_NS,
            Self::WastedShare => WASTE_FLOOR,
            Self::CallbackTime | Self::LockWait => each(COST_FLOOR * run.duration_ns as f64 * cpus),
            // About one per nanosecond.
            Self::Instructions => each(COST_FLOOR * run.duration_ns as f64 * cpus),
            Self::Switches | Self::Migrations | Self::Preemptions => each(COUNT_FLOOR * seconds * cpus),
            // The effect of chance on events that are few and independent.
            Self::Findings(_) => 2.0 * base.sqrt(),
        }
    }
}

/// Returns the number of units of work, or of seconds, in a run.
fn whole(run: &PastRun, per: Per) -> f64 {
    match per {
        Per::Unit => run.throughput_total.max(1) as f64,
        Per::Second => (run.duration_ns as f64 / 1e9).max(1e-9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_key() {
        let named = [Figure::NameDelay("x".into()), Figure::Findings(Kind::Stall)];
        let mut keys: Vec<&str> = Figure::COMMON.iter().chain(&named).map(Figure::key).collect();
        let mut all = KEYS.to_vec();
        keys.sort_unstable();
        all.sort_unstable();
        assert_eq!(keys, all);
    }
}
