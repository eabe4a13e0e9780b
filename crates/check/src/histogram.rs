//! A histogram of spans or counts in bounded memory, whose quantiles are off by less than 1 %.
//!
//! Below 256 (nanoseconds) each value has its own bucket; above, each power of two has 128 buckets.

use keel_abi::Span;

const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// How many buckets are added at once: most numbers are small, and there may be one histogram per name.
const MORE: usize = 8 * SUB;

/// A summary of many numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread<T> {
    /// Half of them were at most this.
    pub p50: T,
    /// 99 % of them were at most this.
    pub p99: T,
    /// The greatest.
    pub max: T,
}

/// How often each value occurred: spans in nanoseconds, or counts.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// By bucket, up to the last one that was needed.
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

impl Histogram {
    /// Counts one span.
    #[inline(always)]
    pub fn record(&mut self, span: Span) {
        self.record_value(span.as_ns());
    }

    /// Counts one value.
    #[inline(always)]
    pub fn record_value(&mut self, value: u64) {
        match self.counts.get_mut(bucket(value)) {
            Some(count) => *count += 1,
            None => self.record_first(bucket(value)),
        }
        self.total += 1;
        // A branch: few values are the greatest.
        if value > self.max {
            self.max = value;
        }
    }

    /// Counts a value whose bucket is not there yet.
    #[cold]
    #[inline(never)]
    fn record_first(&mut self, bucket: usize) {
        self.counts.resize((bucket + 1).next_multiple_of(MORE), 0);
        self.counts[bucket] = 1;
    }

    /// Adds what another one has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// The number of counted spans.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The longest span, exactly; zero if there is none.
    pub fn max(&self) -> Span {
        Span::from_ns(self.max)
    }

    /// The shortest span that at least the fraction `q` (0 to 1) of all spans don't exceed, off by less than 1 %; zero
    /// if there is none.
    pub fn quantile(&self, q: f64) -> Span {
        Span::from_ns(self.quantile_value(q))
    }

    /// The summary of spans.
    pub fn spans(&self) -> Spread<Span> {
        Spread { p50: self.quantile(0.5), p99: self.quantile(0.99), max: self.max() }
    }

    /// The summary of values.
    pub fn values(&self) -> Spread<u64> {
        Spread { p50: self.quantile_value(0.5), p99: self.quantile_value(0.99), max: self.max }
    }

    /// Like [`Histogram::quantile`], for values.
    fn quantile_value(&self, q: f64) -> u64 {
        // Many names have tasks that nobody woke: all of their buckets are empty.
        if self.total == 0 {
            return 0;
        }
        let rank = ((q * self.total as f64).ceil() as u64).clamp(1, self.total);
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(bucket).min(self.max);
            }
        }
        0
    }
}

#[inline]
fn bucket(ns: u64) -> usize {
    let octave = (63 - (ns | SUB as u64).leading_zeros()) - SUB_BITS;
    octave as usize * SUB + (ns >> octave) as usize
}

/// The value in the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    if bucket < 2 * SUB {
        return bucket as u64;
    }
    let octave = bucket / SUB - 1;
    let low = ((bucket - octave * SUB) as u64) << octave;
    low + (1 << octave) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_has_a_bucket() {
        for ns in [0, 1, 127, 128, 255, 256, 257, 1 << 40, u64::MAX] {
            let mid = middle(bucket(ns)) as f64;
            assert!((mid - ns as f64).abs() <= ns as f64 / 200.0, "{ns} became {mid}");
        }
    }

    #[test]
    fn an_empty_one_says_zero() {
        assert_eq!(Histogram::default().quantile(0.99), Span::ZERO);
    }

    proptest! {
        #[test]
        fn quantiles_are_exact_to_one_percent(mut spans in prop::collection::vec(0u64..10_000_000_000, 1..300), q in 0.0f64..=1.0) {
            let mut histogram = Histogram::default();
            spans.iter().for_each(|&ns| histogram.record(Span::from_ns(ns)));
            spans.sort_unstable();
            let rank = ((q * spans.len() as f64).ceil() as usize).max(1);
            let expected = spans[rank - 1] as f64;
            let got = histogram.quantile(q).as_ns() as f64;
            prop_assert!((got - expected).abs() <= expected * 0.01, "{got} for {expected}");
            prop_assert_eq!(histogram.max().as_ns(), spans[spans.len() - 1]);
        }
    }
}
