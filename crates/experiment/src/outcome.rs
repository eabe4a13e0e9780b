//! The results of the runs, arm by arm.

use keel_abi::Span;
use keel_check::{Costs, Measured};

/// The costs of the scheduler in a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The time spent in callbacks and waiting for locks.
    pub costs: Costs,
    /// The length of the whole run.
    pub end: Span,
    /// That length times the number of CPUs.
    pub machine_time: Span,
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Its seed.
    pub seed: u64,
    /// The costs of the scheduler. Zero if there was no run.
    pub costs: Taken,
    /// What was measured, or why the run gave no result, as a clause without a full stop.
    pub result: Result<Measured, String>,
}

/// The runs of one arm, in the order of their seeds. Empty if the arm was not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmFigures {
    /// The results of its runs.
    pub runs: Vec<RunFigures>,
}
