//! The programs of a scheduler's callbacks.

use keel_abi::bpf::Entry;
use keel_abi::scx::Op;

/// The program of each callback. Each call of a callback reads it, so it is not an `Option`: those who make the call have
/// asked already whether there is one.
#[derive(Clone, Debug)]
pub(crate) struct Entries([Entry; Op::ALL.len()]);

/// The scheduler doesn't have the callback. No object has so many programs.
const NOTHING: Entry = Entry(u32::MAX);

impl Entries {
    /// No callbacks.
    pub(crate) const NONE: Self = Self([NOTHING; Op::ALL.len()]);

    /// These callbacks.
    pub(crate) fn new(callbacks: &[(Op, Entry)]) -> Self {
        let mut entries = Self::NONE;
        for &(op, entry) in callbacks {
            entries.0[op as usize] = entry;
        }
        entries
    }

    /// Returns whether the scheduler has the callback.
    #[inline]
    pub(crate) fn has(&self, op: Op) -> bool {
        self.0[op as usize] != NOTHING
    }

    /// The callback's program, if the scheduler has it.
    #[inline]
    pub(crate) fn get(&self, op: Op) -> Option<Entry> {
        self.has(op).then(|| self.0[op as usize])
    }

    /// The program of a callback that the scheduler has.
    #[inline]
    pub(crate) fn of(&self, op: Op) -> Entry {
        debug_assert!(self.has(op), "the scheduler has the callback");
        self.0[op as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_has_its_own_callbacks_alone() {
        let entries = Entries::new(&[(Op::Enqueue, Entry(0)), (Op::Tick, Entry(7))]);
        assert_eq!((entries.get(Op::Enqueue), entries.of(Op::Tick)), (Some(Entry(0)), Entry(7)));
        assert!(!entries.has(Op::Running) && entries.get(Op::Running).is_none());
        assert!(Op::ALL.iter().all(|&op| !Entries::NONE.has(op)));
    }
}
