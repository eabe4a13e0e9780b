//! Repeated measurements of one thing: their median and quartiles.

use std::fmt;

/// The number of measurements that shows whether they are regular.
const MANY: usize = 16;

/// Measurements in picoseconds, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spread(Vec<u64>);

impl Spread {
    /// Sorts measurements. Returns `None` if there are none.
    pub(super) fn of(measured_ps: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut all: Vec<u64> = measured_ps.into_iter().collect();
        all.sort_unstable();
        (!all.is_empty()).then_some(Self(all))
    }

    /// Halves each measurement: one way of a round trip.
    pub(super) fn halved(self) -> Self {
        Self(self.0.into_iter().map(|ps| ps / 2).collect())
    }

    /// Returns whether there are many, and most are about equal.
    pub(super) fn is_regular(&self) -> bool {
        self.0.len() >= MANY && (self.at(3, 4) - self.at(1, 4)) * 4 <= self.median_ps()
    }

    fn at(&self, part: usize, of: usize) -> u64 {
        self.0[(self.0.len() - 1) * part / of]
    }

    pub(super) fn median_ps(&self) -> u64 {
        self.at(1, 2)
    }

    pub(super) fn median_ns(&self) -> u64 {
        self.median_ps() / 1000
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = |ps: u64| ps as f64 / 1e3;
        let (low, mid, high) = (ns(self.at(1, 4)), ns(self.median_ps()), ns(self.at(3, 4)));
        write!(f, "median {mid:.1} ns, quartiles {low:.1} to {high:.1}, of {}", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_quartiles_are_told() {
        let check = |values: &[u64], expected: &str| {
            assert_eq!(
                Spread::of(values.iter().copied()).map(|s| s.to_string()).unwrap_or_default(),
                expected
            );
        };
        check(&[], "");
        check(&[3000], "median 3.0 ns, quartiles 3.0 to 3.0, of 1");
        check(&[5000, 1000, 4000, 2000, 3000], "median 3.0 ns, quartiles 2.0 to 4.0, of 5");
    }

    #[test]
    fn many_equal_ones_are_regular() {
        let check = |values: &[u64], times: usize, expected: bool| {
            let spread = Spread::of(values.iter().copied().cycle().take(values.len() * times)).unwrap();
            assert_eq!(spread.is_regular(), expected, "{values:?} {times} times");
        };
        check(&[120, 121, 119, 122], 4, true);
        check(&[120, 121, 119, 122], 3, false);
        // An interrupt cuts some of them short.
        check(&[120, 121, 119, 122, 60, 120, 121], 4, true);
        check(&[1200, 2500, 3200, 700], 10, false);
    }
}
