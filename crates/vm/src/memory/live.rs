//! The checked mode's table of live objects, which says what an access may touch. It is kept outside the memory itself.

use std::collections::BTreeMap;

#[derive(Clone, Copy)]
struct Object {
    len: u64,
    writable: bool,
}

/// Live objects by their offset in the region.
#[derive(Default)]
pub(super) struct Live {
    objects: BTreeMap<u64, Object>,
    /// Objects that have ended, and their lengths, until another begins at the same place.
    ended: BTreeMap<u64, u64>,
}

impl Live {
    /// An object begins to live.
    pub(super) fn add(&mut self, off: u64, len: u64, writable: bool) {
        self.objects.insert(off, Object { len, writable });
        self.ended.remove(&off);
    }

    /// The object at `off` ends.
    pub(super) fn remove(&mut self, off: u64) {
        if let Some(object) = self.objects.remove(&off) {
            self.ended.insert(off, object.len);
        }
    }

    /// Removes the object at `off` from this table.
    pub(super) fn forget(&mut self, off: u64) {
        self.objects.remove(&off);
    }

    /// Returns whether an object that has ended held this byte.
    pub(super) fn has_ended(&self, off: u64) -> bool {
        self.ended.range(..=off).next_back().is_some_and(|(&start, &len)| off - start < len)
    }

    /// Returns whether all these bytes belong to one object, which may be written if `write`.
    pub(super) fn covers(&self, off: u64, len: u64, write: bool) -> bool {
        let Some((&start, object)) = self.objects.range(..=off).next_back() else { return false };
        let within = off.checked_add(len).is_some_and(|end| end <= start + object.len);
        within && (object.writable || !write)
    }
}
