//! Queues of slots, linked through their rows, so that any slot can leave its queue in constant time.

pub(super) const NONE: u32 = u32::MAX;

/// What has neighbours in its queue.
pub(super) trait Linked {
    /// The slots before and after it, or [`NONE`].
    fn links(&mut self) -> &mut [u32; 2];
}

/// A queue; a slot is in at most one queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    head: u32,
    tail: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl Queue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    #[inline(always)]
    pub(super) fn push_back(&mut self, rows: &mut [impl Linked], slot: u32) {
        *rows[slot as usize].links() = [self.tail, NONE];
        match self.tail {
            NONE => self.head = slot,
            tail => rows[tail as usize].links()[1] = slot,
        }
        self.tail = slot;
    }

    #[inline]
    pub(super) fn push_front(&mut self, rows: &mut [impl Linked], slot: u32) {
        *rows[slot as usize].links() = [NONE, self.head];
        match self.head {
            NONE => self.tail = slot,
            head => rows[head as usize].links()[0] = slot,
        }
        self.head = slot;
    }

    #[inline]
    pub(super) fn pop_front(&mut self, rows: &mut [impl Linked]) -> Option<u32> {
        let slot = self.head;
        (slot != NONE).then(|| {
            let links = *rows[slot as usize].links();
            self.remove(rows, links);
            slot
        })
    }

    /// A slot with these links leaves.
    #[inline(always)]
    pub(super) fn remove(&mut self, rows: &mut [impl Linked], [before, after]: [u32; 2]) {
        match before {
            NONE => self.head = after,
            before => rows[before as usize].links()[1] = after,
        }
        match after {
            NONE => self.tail = before,
            after => rows[after as usize].links()[0] = before,
        }
    }
}
