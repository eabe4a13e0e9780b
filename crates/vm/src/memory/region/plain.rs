//! Addresses at which an access of a word needs no further checks.

use crate::memory::BASE;
use keel_abi::bpf::Ea;

/// The bytes of a word, which is what most accesses are.
pub(super) const WORD: u64 = 8;

/// The longest object that takes one comparison to check.
pub(super) const OBJECT: u64 = 512;

/// Addresses at which [`WORD`] bytes are allocated, writable, and not part of an arena's window. Most of the kernel's
/// accesses are there, which takes one comparison to check.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plain {
    first: u64,
    /// The number of these addresses from `first` on.
    count: u64,
    /// At so many of them, [`OBJECT`] bytes are like that.
    objects: u64,
}

impl Plain {
    /// For these offsets into the region.
    pub(super) const fn new(from: u64, end: u64) -> Self {
        let (first, end) = (BASE + from, end + 1);
        Self { first, count: end.saturating_sub(from + WORD), objects: end.saturating_sub(from + OBJECT) }
    }

    /// The distance of an address from the first one: the check of an address has computed it already.
    #[inline(always)]
    pub(super) const fn distance(self, at: Ea) -> usize {
        at.0.wrapping_sub(self.first) as usize
    }

    /// Returns whether these bytes are certainly plain. Only accesses of at most a word can be.
    #[inline(always)]
    pub(super) const fn holds(self, at: Ea, len: u64) -> bool {
        len <= WORD && at.0.wrapping_sub(self.first) < self.count
    }

    /// Like `holds` for an access of at most [`OBJECT`] bytes.
    #[inline(always)]
    pub(super) const fn holds_object(self, at: Ea, len: u64) -> bool {
        len <= OBJECT && at.0.wrapping_sub(self.first) < self.objects
    }

    /// Like `holds` for an access of any length, whose first and last words must be plain.
    #[inline(always)]
    pub(super) const fn holds_all(self, at: Ea, len: u64) -> bool {
        let last = Ea(at.0.wrapping_add(len.saturating_sub(WORD)));
        self.holds(at, WORD) && self.holds(last, WORD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_plain_where_all_of_it_is() {
        let check = |from: u64, end: u64, off: u64, len: u64, expected: bool| {
            let plain = Plain::new(from, end);
            let at = Ea(BASE.wrapping_add(off));
            assert_eq!(plain.holds(at, len), expected, "{len} bytes at {off} of {from} to {end}");
            assert_eq!(plain.holds_all(at, len), expected || len == 9 && off == 5000, "{len} bytes at {off}");
        };
        check(4096, 8192, 4096, 8, true);
        check(4096, 8192, 8184, 8, true);
        check(4096, 8192, 8185, 8, false);
        check(4096, 8192, 8185, 1, false);
        check(4096, 8192, 4095, 1, false);
        check(4096, 8192, 5000, 9, false);
        check(4096, 8192, 5000, 0, true);
        check(4096, 4096, 4096, 1, false);
        check(4096, 4103, 4096, 7, false);
        check(4096, 4104, 4096, 8, true);
        check(8192, 4096, 4096, 1, false);
        check(4096, 8192, u64::MAX, 1, false);
    }

    #[test]
    fn an_object_is_plain_where_all_that_it_may_be_is() {
        let check = |end: u64, off: u64, len: u64, expected: bool| {
            let plain = Plain::new(4096, end);
            assert_eq!(
                plain.holds_object(Ea(BASE.wrapping_add(off)), len),
                expected,
                "{len} at {off} of {end}"
            );
        };
        check(8192, 4096, OBJECT, true);
        check(8192, 8192 - OBJECT, OBJECT, true);
        check(8192, 8192 - OBJECT, 1, true);
        check(8192, 8193 - OBJECT, 1, false);
        check(8192, 4095, 1, false);
        check(8192, 4096, OBJECT + 1, false);
        check(4095 + OBJECT, 4096, 1, false);
        check(4096, u64::MAX, 1, false);
    }

    #[test]
    fn what_lies_between_two_plain_words_is_plain() {
        let plain = Plain::new(4096, 8192);
        let holds_all = |off: u64, len| plain.holds_all(Ea(BASE + off), len);
        assert!(holds_all(4096, 4096) && holds_all(8160, 32) && holds_all(4100, 16));
        assert!(
            !holds_all(4096, 4097) && !holds_all(8161, 32) && !holds_all(4095, 16) && !holds_all(0, 8192)
        );
    }
}
