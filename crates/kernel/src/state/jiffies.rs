//! The kernel's clock in ticks.

use keel_abi::{Instant, Span};

/// Which jiffy it is. Divides only if that is another one than the last time.
#[derive(Debug)]
pub(crate) struct Jiffies {
    tick: Span,
    /// The last one, and when it begins.
    last: u64,
    from: Instant,
}

impl Jiffies {
    pub(crate) fn new(tick: Span) -> Self {
        Self { tick, last: 0, from: Instant::ZERO }
    }

    /// The number of jiffies at a moment that the kernel's clocks show.
    #[inline]
    pub(crate) fn at(&mut self, shown: Instant) -> u64 {
        if shown.as_ns().wrapping_sub(self.from.as_ns()) >= self.tick.as_ns() {
            self.find(shown);
        }
        self.last
    }

    #[inline(never)]
    fn find(&mut self, shown: Instant) {
        self.last = shown.as_ns() / self.tick.as_ns();
        self.from = Instant::from_ns(self.last * self.tick.as_ns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jiffy_lasts_a_tick() {
        let mut jiffies = Jiffies::new(Span::from_ns(4));
        let mut check = |at, expected| assert_eq!(jiffies.at(Instant::from_ns(at)), expected, "{at}");
        check(0, 0);
        check(3, 0);
        check(4, 1);
        check(7, 1);
        check(1, 0);
        check(400, 100);
        check(399, 99);
    }
}
