//! Queues of slots, linked through one table, so that any slot can leave its queue in constant time.

const NONE: u32 = u32::MAX;

/// Each slot's neighbours in its queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(Vec<[u32; 2]>);

impl Links {
    /// Makes room for slots below `slots`.
    pub(super) fn grow(&mut self, slots: usize) {
        self.0.resize(self.0.len().max(slots), [NONE; 2]);
    }
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

    #[inline]
    pub(super) fn push_back(&mut self, links: &mut Links, slot: u32) {
        links.0[slot as usize] = [self.tail, NONE];
        match self.tail {
            NONE => self.head = slot,
            tail => links.0[tail as usize][1] = slot,
        }
        self.tail = slot;
    }

    #[inline]
    pub(super) fn push_front(&mut self, links: &mut Links, slot: u32) {
        links.0[slot as usize] = [NONE, self.head];
        match self.head {
            NONE => self.tail = slot,
            head => links.0[head as usize][0] = slot,
        }
        self.head = slot;
    }

    #[inline]
    pub(super) fn pop_front(&mut self, links: &mut Links) -> Option<u32> {
        let slot = self.head;
        (slot != NONE).then(|| {
            self.remove(links, slot);
            slot
        })
    }

    #[inline]
    pub(super) fn remove(&mut self, links: &mut Links, slot: u32) {
        let [before, after] = links.0[slot as usize];
        match before {
            NONE => self.head = after,
            before => links.0[before as usize][1] = after,
        }
        match after {
            NONE => self.tail = before,
            after => links.0[after as usize][0] = before,
        }
    }
}
