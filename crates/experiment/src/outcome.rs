//! What the runs gave, arm by arm.

use keel_check::Measured;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Its seed.
    pub seed: u64,
    /// What was measured, or why the run gave nothing: a clause without a full stop.
    pub result: Result<Measured, String>,
}

/// The runs of one arm, in the order of their seeds; none where the arm was not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmFigures {
    /// Its runs.
    pub runs: Vec<RunFigures>,
}
