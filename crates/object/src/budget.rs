//! A bound on the work that comparing types may take, however entangled they are.

use std::cell::Cell;

/// Steps that one object's relocations may take: some thousand times what real objects need.
const STEPS: u64 = 20_000_000;

/// What is left of an object's steps.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

/// The steps are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

impl Budget {
    pub(crate) fn new() -> Budget {
        Budget(Cell::new(STEPS))
    }

    pub(crate) fn spend(&self, steps: u64) -> Result<(), Exhausted> {
        let left = self.0.get().checked_sub(steps).ok_or(Exhausted)?;
        self.0.set(left);
        Ok(())
    }
}
