//! Assigns a semaphore to each pair of waker and wakee: the wakee's nth wait for this waker ends with the waker's nth
//! wakeup of it, whichever other tasks wake it in between. A sender and a receiver that wake each other have one in
//! each direction.

use rustc_hash::FxHashMap;

/// The semaphores so far.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    semaphores: FxHashMap<(u32, u32), u32>,
    /// How often each was posted.
    posted: Vec<u32>,
}

impl Pairs {
    /// Returns the semaphore of the waker and the wakee with these numbers.
    pub(crate) fn of(&mut self, waker: u32, wakee: u32) -> u32 {
        let next = self.len();
        let semaphore = *self.semaphores.entry((waker, wakee)).or_insert(next);
        if semaphore == next {
            self.posted.push(0);
        }
        semaphore
    }

    /// Counts another post and wait of a semaphore, and returns its number.
    pub(crate) fn nth(&mut self, semaphore: u32) -> u32 {
        let posted = &mut self.posted[semaphore as usize];
        *posted = posted.wrapping_add(1);
        posted.wrapping_sub(1)
    }

    pub(crate) fn len(&self) -> u32 {
        self.semaphores.len() as u32
    }
}
