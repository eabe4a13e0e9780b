//! The kernel's hash buckets of futexes, each with its lock.

use crate::state::cost::lock::{LockName, LockUse, VirtualLock};
use crate::state::objects::Objects;
use keel_abi::task::ObjectId;

/// The locks of the buckets, by the numbers of their futexes: mutexes, then conditions.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    pub(crate) locks: Vec<VirtualLock>,
    mutexes: u32,
}

impl Buckets {
    /// The buckets of this many mutexes and conditions.
    pub(super) fn new(mutexes: u32, conditions: u32) -> Self {
        Self { locks: vec![VirtualLock::default(); (mutexes + conditions) as usize], mutexes }
    }

    /// The use of each bucket's lock.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (LockName, LockUse)> {
        let name = |number: u32| match number.checked_sub(self.mutexes) {
            None => LockName::Mutex(ObjectId(number)),
            Some(condition) => LockName::Condition(ObjectId(condition)),
        };
        (0..).zip(&self.locks).map(move |(number, lock)| (name(number), lock.uses()))
    }
}

impl Objects {
    /// The number of a condition among the futexes.
    pub(crate) fn condition_futex(&self, condition: ObjectId) -> u32 {
        self.buckets.mutexes + condition.0
    }
}
