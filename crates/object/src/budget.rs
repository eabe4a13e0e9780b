//! Bounds the work of comparing types, however entangled they are.

use std::cell::Cell;

/// The maximum number of steps for one object's relocations: about a thousand times what real objects need.
const STEPS: u64 = 20_000_000;

/// The remaining steps for an object.
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
