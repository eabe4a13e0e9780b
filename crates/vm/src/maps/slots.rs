//! Which elements of a hash map are in use.

/// Slots up to a limit: freed ones are reused first, the last freed one before the others.
pub(super) struct Slots {
    used: Vec<u64>,
    free: Vec<u32>,
    fresh: u32,
    limit: u32,
}

impl Slots {
    /// Slots `first..limit`.
    pub(super) fn new(first: u32, limit: u32) -> Self {
        Self { used: Vec::new(), free: Vec::new(), fresh: first, limit }
    }

    /// A slot that is not in use; it stays unused until [`Slots::fill`].
    pub(super) fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let slot = self.fresh;
            (slot < self.limit).then(|| self.fresh += 1).map(|()| slot)
        })
    }

    /// Returns an unused slot.
    pub(super) fn give(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Marks the slot as used.
    pub(super) fn fill(&mut self, slot: u32) {
        let word = slot as usize / 64;
        if self.used.len() <= word {
            self.used.resize(word + 1, 0);
        }
        self.used[word] |= 1 << (slot % 64);
    }

    /// Marks the slot as unused.
    pub(super) fn empty(&mut self, slot: u32) {
        self.used[slot as usize / 64] &= !(1 << (slot % 64));
    }

    /// The number of slots.
    pub(super) const fn limit(&self) -> u32 {
        self.limit
    }

    /// Returns whether the slot is in use.
    pub(super) fn is_used(&self, slot: u32) -> bool {
        self.used.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    /// The first slot in use at or after `from`.
    pub(super) fn next_used(&self, from: u64) -> Option<u32> {
        let first = usize::try_from(from / 64).ok()?;
        let mut mask = u64::MAX << (from % 64);
        for (i, word) in self.used.iter().enumerate().skip(first) {
            if word & mask != 0 {
                return Some(i as u32 * 64 + (word & mask).trailing_zeros());
            }
            mask = u64::MAX;
        }
        None
    }
}
