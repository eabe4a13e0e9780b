//! The order in which the elements of an LRU map were last used.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Link {
    newer: u32,
    older: u32,
}

/// A list of slots, linked by their numbers.
pub(super) struct Recency {
    links: Vec<Link>,
    newest: u32,
    oldest: u32,
}

impl Recency {
    pub(super) fn new() -> Self {
        Self { links: Vec::new(), newest: NONE, oldest: NONE }
    }

    /// Adds a slot, which is not in the list, as the newest.
    pub(super) fn add(&mut self, slot: u32) {
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, Link { newer: NONE, older: NONE });
        }
        self.links[slot as usize] = Link { newer: NONE, older: self.newest };
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.links[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    /// Removes a slot, which is in the list.
    pub(super) fn remove(&mut self, slot: u32) {
        let Link { newer, older } = self.links[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
    }

    /// Makes a slot, which is in the list, the newest.
    #[inline]
    pub(super) fn touch(&mut self, slot: u32) {
        if self.newest != slot {
            self.remove(slot);
            self.add(slot);
        }
    }

    /// The slot used longest ago.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }
}
