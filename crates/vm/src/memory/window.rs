//! The arena's window in the region: 4 GiB for the low halves of user-space addresses, and guards that an instruction's
//! displacement may reach.
//!
//! No CPU ever holds a line of an unbacked page. So native code, which checks the sharers first, asks the engine at
//! each access, and the engine refuses.

use super::PAGE_BYTES;

/// The offset of the window in the region. It is a multiple of 4 GiB, so that an address in it has the same low half as
/// the user-space address.
pub(crate) const WINDOW_AT: u64 = 4 << 30;
/// Bytes of the window.
pub(crate) const WINDOW_BYTES: u64 = 4 << 30;
/// Bytes before it and behind it that are never backed: half of the kernel's `GUARD_SZ`.
pub(super) const GUARD_BYTES: u64 = 32 << 10;

/// Offsets in the region of the beginning of the first guard, and of the end of the last.
pub(super) const START: u64 = WINDOW_AT - GUARD_BYTES;
pub(super) const END: u64 = WINDOW_AT + WINDOW_BYTES + GUARD_BYTES;

const PAGES: u64 = WINDOW_BYTES / PAGE_BYTES;

/// Which pages of the window are backed: a bit each.
pub(super) struct Window {
    backed: Box<[u64]>,
    /// Whether its pages belong to a file.
    pub(super) is_shared: bool,
}

impl Window {
    pub(super) fn new() -> Self {
        Self { backed: vec![0; (PAGES / 64) as usize].into(), is_shared: false }
    }

    /// Returns whether all these bytes of the region may be accessed, as far as the window is concerned.
    #[inline]
    pub(super) fn allows(&self, off: u64, len: u64) -> bool {
        if off >= END || off.saturating_add(len) <= START || len == 0 {
            return true;
        }
        self.holds(off, len)
    }

    /// Returns whether the byte at this offset is in the window or its guards.
    pub(super) const fn covers(off: u64) -> bool {
        off >= START && off < END
    }

    fn holds(&self, off: u64, len: u64) -> bool {
        let last = off + (len - 1);
        if off < WINDOW_AT || last >= WINDOW_AT + WINDOW_BYTES {
            return false;
        }
        let page = |off: u64| (off - WINDOW_AT) / PAGE_BYTES;
        (page(off)..=page(last)).all(|page| self.backed[(page / 64) as usize] >> (page % 64) & 1 != 0)
    }

    /// Sets whether these pages of the window are backed; returns the number of pages for which that changes.
    pub(super) fn set(&mut self, first: u64, count: u64, backed: bool) -> u64 {
        assert!(first + count <= PAGES, "the pages are in the window");
        let (mut page, end, mut changed) = (first, first + count, 0);
        while page < end {
            let next = ((page / 64 + 1) * 64).min(end);
            let ones = if next - page == 64 { u64::MAX } else { ((1 << (next - page)) - 1) << (page % 64) };
            let word = &mut self.backed[(page / 64) as usize];
            let new = if backed { *word | ones } else { *word & !ones };
            changed += u64::from((*word ^ new).count_ones());
            *word = new;
            page = next;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_backed_one_by_one() {
        let mut window = Window::new();
        assert_eq!((window.set(3, 130, true), window.set(3, 130, true)), (130, 0));
        assert_eq!((window.set(70, 1, false), window.set(69, 2, false), window.set(69, 1, true)), (1, 1, 1));
        window.set(PAGES - 1, 1, true);
        let check = |page: u64, len: u64, expected: bool| {
            let off = WINDOW_AT + page * PAGE_BYTES;
            assert_eq!(window.allows(off, len), expected, "page {page}, {len} bytes");
        };
        check(2, 1, false);
        check(2, 0, true);
        check(3, PAGE_BYTES * 67, true);
        check(3, PAGE_BYTES * 67 + 1, false);
        check(70, 8, false);
        check(71, PAGE_BYTES * 62, true);
        check(71, PAGE_BYTES * 62 + 1, false);
        check(PAGES - 1, PAGE_BYTES, true);
        check(PAGES - 1, PAGE_BYTES + 1, false);
    }

    #[test]
    fn guards_hold_nothing_and_the_rest_is_not_asked_for() {
        let window = Window::new();
        let check = |off: u64, len, expected| assert_eq!(window.allows(off, len), expected, "{off:#x}");
        check(START - 8, 8, true);
        check(START - 8, 9, false);
        check(START, 1, false);
        check(WINDOW_AT - 1, 1, false);
        check(END - 1, 1, false);
        check(END, 1, true);
        check(u64::MAX, 8, true);
        assert!(Window::covers(START) && Window::covers(END - 1));
        assert!(!Window::covers(START - 1) && !Window::covers(END));
    }
}
