//! What the runs gave, arm by arm.

use keel_abi::Span;
use keel_check::{Costs, Measured};

/// What the scheduler took of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Time in callbacks, and waiting for locks.
    pub costs: Costs,
    /// The whole run's time.
    pub end: Span,
    /// The same, summed over the CPUs.
    pub machine_time: Span,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Its seed.
    pub seed: u64,
    /// What the scheduler took; nothing where there was no run.
    pub costs: Taken,
    /// What was measured, or why the run gave nothing: a clause without a full stop.
    pub result: Result<Measured, String>,
}

/// The runs of one arm, in the order of their seeds; none where the arm was not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmFigures {
    /// Its runs.
    pub runs: Vec<RunFigures>,
}
