//! Virtual time: [`Instant`]s on the simulated clock and [`Span`]s between them, in nanoseconds.
//!
//! They are separate types so that two instants can't be added and no wall-clock time can be mixed in.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// An instant on the simulated clock, in nanoseconds since the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of virtual time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// How long a simulated machine has been up when a run begins. Clocks that schedulers and programs read start at this
/// value. No real kernel runs a scheduler in its first milliseconds, and schedulers rely on 0 ('never') being far in
/// the past.
pub const UPTIME: Span = Span::from_s(60);

impl Instant {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// An instant that is never reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// Creates the instant `ns` nanoseconds after the beginning of the run.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns the nanoseconds since the beginning of the run.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Returns the time since `earlier`, which is not later: unlike [`Instant::since`], this doesn't compare them.
    #[inline]
    pub const fn after(self, earlier: Self) -> Span {
        debug_assert!(earlier.0 <= self.0, "time runs forwards");
        Span(self.0.wrapping_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Creates a span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Creates a span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Creates a span of `s` seconds.
    pub const fn from_s(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Returns its length in nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Returns its length in seconds, for printing.
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Adds to a sum over one run. Unlike `+=`, this doesn't test for an overflow, which takes more than 500 years.
    #[inline]
    pub const fn accumulate(&mut self, more: Self) {
        self.0 += more.0;
    }

    /// Returns the difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        debug_assert!(earlier <= self, "time runs forwards: {self} - {earlier}");
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        debug_assert!(other <= self, "a span is never negative: {self} - {other}");
        self.saturating_sub(other)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl fmt::Display for Span {
    /// Formats it in the unit that a person would use: `730 ns`, `4.20 µs`, `1.50 ms`, `2.00 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        match ns {
            0..1_000 => write!(f, "{ns} ns"),
            1_000..1_000_000 => write!(f, "{:.2} µs", ns as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.2} ms", ns as f64 / 1e6),
            _ => write!(f, "{:.2} s", ns as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_in_the_unit_a_person_would_use() {
        let check = |ns, expected: &str| assert_eq!(Span::from_ns(ns).to_string(), expected);
        check(730, "730 ns");
        check(4_200, "4.20 µs");
        check(1_500_000, "1.50 ms");
        check(2_000_000_000, "2.00 s");
    }

    #[test]
    fn arithmetic_stays_in_range() {
        assert_eq!(Instant::from_ns(5).since(Instant::from_ns(9)), Span::ZERO);
        assert_eq!(Instant::NEVER + Span::from_s(1), Instant::NEVER);
    }
}
