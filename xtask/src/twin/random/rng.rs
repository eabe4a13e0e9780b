//! Random numbers that depend only on a seed and never change: the figures of recordings are stored by seed.

/// A SplitMix64 generator (Steele, Lea and Flood, 'Fast splittable pseudorandom number generators', 2014).
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    /// Stream number `stream` of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self(seed ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        rng.next();
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `least` to `most`.
    pub(super) fn within(&mut self, least: u32, most: u32) -> u32 {
        let width = u64::from(most.saturating_sub(least)) + 1;
        least + ((u128::from(self.next()) * u128::from(width)) >> 64) as u32
    }

    /// True in `percent` of 100 cases.
    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.within(1, 100) <= percent
    }

    /// One of the given values.
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.within(0, from.len() as u32 - 1) as usize]
    }

    /// A number from `least` to `most`, with each doubling equally likely.
    pub(super) fn scaled(&mut self, least: u32, most: u32) -> u32 {
        let unit = f64::from(self.within(0, 1 << 20)) / f64::from(1 << 20);
        let value = f64::from(least) * (f64::from(most) / f64::from(least)).powf(unit);
        (value.round() as u32).clamp(least, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut rng = Rng::new(1, 0);
        let drawn: Vec<u32> = (0..200).map(|_| rng.within(3, 6)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&6)));
        assert!((0..200).all(|_| (4..=60).contains(&rng.scaled(4, 60))));
        let halves = (0..1000).filter(|_| rng.chance(50)).count();
        assert!((400..600).contains(&halves), "{halves}");
        assert_ne!(Rng::new(1, 0).next(), Rng::new(1, 1).next());
    }
}
