//! A semaphore for each pair of waker and wakee: the wakee's n-th wait for this waker passes with the waker's n-th wakeup of
//! it, whoever else wakes it meanwhile. A sender and its receiver that wake each other have one in each direction.

use rustc_hash::FxHashMap;

/// The semaphores so far.
#[derive(Debug, Default)]
pub(crate) struct Pairs(FxHashMap<(u32, u32), u32>);

impl Pairs {
    /// The semaphore of the waker and the wakee with these numbers.
    pub(crate) fn of(&mut self, waker: u32, wakee: u32) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((waker, wakee)).or_insert(next)
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.len() as u32
    }
}
