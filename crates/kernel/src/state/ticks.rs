//! When a CPU's next tick is due, and its high-resolution tick.

use keel_abi::Instant;

/// A CPU's ticks. It asks often whether any is due, so the first of them is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    first: Instant,
    tick: Instant,
    hrtick: Instant,
}

impl Ticks {
    /// None is due.
    pub(crate) const NONE: Self =
        Self { first: Instant::NEVER, tick: Instant::NEVER, hrtick: Instant::NEVER };

    /// The first of them.
    #[inline(always)]
    pub(crate) fn first(&self) -> Instant {
        self.first
    }

    /// The next tick; [`Instant::NEVER`] while the CPU is idle.
    #[inline(always)]
    pub(crate) fn tick(&self) -> Instant {
        self.tick
    }

    /// When the slice of the running fair task ends, if others wait; else [`Instant::NEVER`].
    #[inline(always)]
    pub(crate) fn hrtick(&self) -> Instant {
        self.hrtick
    }

    /// The next tick is due at `at`.
    #[inline]
    pub(crate) fn set_tick(&mut self, at: Instant) {
        self.tick = at;
        self.first = at.min(self.hrtick);
    }

    /// The slice of the running fair task ends at `at`.
    #[inline]
    pub(crate) fn set_hrtick(&mut self, at: Instant) {
        self.hrtick = at;
        self.first = at.min(self.tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_the_earlier_one() {
        let mut ticks = Ticks::NONE;
        let [a, b] = [1, 2].map(Instant::from_ns);
        ticks.set_tick(b);
        assert_eq!(ticks.first(), b);
        ticks.set_hrtick(a);
        assert_eq!((ticks.first(), ticks.tick(), ticks.hrtick()), (a, b, a));
        ticks.set_hrtick(Instant::NEVER);
        assert_eq!(ticks.first(), b);
        ticks.set_tick(Instant::NEVER);
        assert_eq!(ticks.first(), Instant::NEVER);
    }
}
