//! Random numbers from a seed: SplitMix64 (Steele, Lea and Flood, 'Fast splittable pseudorandom number generators',
//! OOPSLA 2014).

/// A generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator. The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.any()) * u128::from(end)) >> 64) as u64
    }

    /// From `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    /// As [`Rng::within`], but each order of magnitude is equally likely. `low` is at least 1.
    pub fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let (from, to) = (low.ilog2(), high.ilog2());
        let bits = self.within(u64::from(from), u64::from(to));
        let base = 1u64 << bits;
        (base + self.below(base)).clamp(low, high)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns one of these, or `None` if there are none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        match of.len() {
            0 => None,
            len => Some(&of[self.below(len as u64) as usize]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[rng.below(5) as usize] = true;
            assert!((3..=9).contains(&rng.within(3, 9)));
            assert!((1..=1000).contains(&rng.magnitude(1, 1000)));
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(rng.within(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(rng.pick::<u8>(&[]), None);
    }

    #[test]
    fn a_seed_stands_for_its_numbers() {
        let numbers = |seed| {
            let mut rng = Rng::new(seed);
            [rng.any(), rng.any()]
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }
}
