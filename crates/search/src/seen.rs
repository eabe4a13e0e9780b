//! All features seen in any run so far: of the scheduler's branches, and of states.

use std::collections::BTreeSet;

/// A feature of a run: a branch that went one way, or a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A conditional jump of the scheduler, and whether it was taken. See `keel_vm`'s coverage.
    Branch(u32),
    /// A state, as [`crate::states`] numbers them.
    State(u32),
}

/// The features seen so far.
#[derive(Clone, Debug, Default)]
pub struct Seen(BTreeSet<Feature>);

impl Seen {
    /// Adds a run's features. Returns how many of them were new.
    pub fn add(&mut self, features: &[Feature]) -> usize {
        features.iter().filter(|&&feature| self.0.insert(feature)).count()
    }

    /// Returns the number of directions of branches.
    pub fn branches(&self) -> usize {
        self.0.iter().filter(|feature| matches!(feature, Feature::Branch(_))).count()
    }

    /// Returns the number of states.
    pub fn states(&self) -> usize {
        self.0.len() - self.branches()
    }
}
