//! A set of small numbers below a fixed bound, which knows whether it is empty.

/// The set.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// An empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)], len: 0 }
    }

    #[inline]
    pub(super) fn has(&self, n: usize) -> bool {
        self.words.get(n / 64).is_some_and(|word| word >> (n % 64) & 1 != 0)
    }

    #[inline]
    pub(super) fn insert(&mut self, n: usize) {
        let (word, bit) = (&mut self.words[n / 64], 1 << (n % 64));
        self.len += usize::from(*word & bit == 0);
        *word |= bit;
    }

    #[inline]
    pub(super) fn remove(&mut self, n: usize) {
        let (word, bit) = (&mut self.words[n / 64], 1 << (n % 64));
        self.len -= usize::from(*word & bit != 0);
        *word &= !bit;
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        self.len > 0
    }

    /// The lowest number that both hold.
    #[inline]
    pub(super) fn first_common(&self, other: &Self) -> Option<usize> {
        let mut words = self.words.iter().zip(&other.words).enumerate();
        words.find_map(|(i, (a, b))| (a & b != 0).then(|| i * 64 + (a & b).trailing_zeros() as usize))
    }

    /// Its numbers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let words = if self.any() { &self.words[..] } else { &[] };
        words.iter().enumerate().flat_map(|(i, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let bit = left.trailing_zeros() as usize;
                    left &= left - 1;
                    i * 64 + bit
                })
            })
        })
    }
}
