//! What was seen in any run so far: a set of features, of the scheduler's branches and of states.

use std::collections::BTreeSet;

/// One thing that a run can show: a branch that went one way, or a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A conditional jump of the scheduler, and whether it was taken: see `keel_vm`'s coverage.
    Branch(u32),
    /// A state, as [`crate::states`] numbers them.
    State(u32),
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Seen(BTreeSet<Feature>);

impl Seen {
    /// Adds what a run showed; says how much of it was new.
    pub fn add(&mut self, features: &[Feature]) -> usize {
        features.iter().filter(|&&feature| self.0.insert(feature)).count()
    }

    /// How many ways of branches were seen.
    pub fn branches(&self) -> usize {
        self.0.iter().filter(|feature| matches!(feature, Feature::Branch(_))).count()
    }

    /// How many states.
    pub fn states(&self) -> usize {
        self.0.len() - self.branches()
    }
}
