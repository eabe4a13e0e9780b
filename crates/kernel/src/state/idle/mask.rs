//! A set of CPUs that knows which of its words are not empty, so that a search of a large machine skips empty ones.

use std::ops::Index;

/// One bit per CPU, in 64-bit words; at most 64 words.
#[derive(Clone, Debug)]
pub(super) struct Mask {
    words: Vec<u64>,
    /// A bit for each word that is not 0.
    filled: u64,
}

impl Mask {
    /// An empty set of this many words.
    ///
    /// # Panics
    /// Panics if there are more than 64 words.
    pub(super) fn new(words: usize) -> Self {
        assert!(words <= 64, "a word of bits has one for each word");
        Self { words: vec![0; words], filled: 0 }
    }

    /// All words.
    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// A bit for each word that is not 0.
    #[inline]
    pub(super) const fn filled(&self) -> u64 {
        self.filled
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.filled == 0
    }

    #[inline]
    pub(super) fn set(&mut self, word: usize, bits: u64) {
        self.words[word] = bits;
        self.filled = self.filled & !(1 << word) | u64::from(bits != 0) << word;
    }

    #[inline]
    pub(super) fn add(&mut self, word: usize, bits: u64) {
        self.words[word] |= bits;
        self.filled |= u64::from(bits != 0) << word;
    }

    /// Returns whether the set had any of these bits.
    #[inline]
    pub(super) fn remove(&mut self, word: usize, bits: u64) -> bool {
        let at = &mut self.words[word];
        let had = *at & bits != 0;
        *at &= !bits;
        if *at == 0 {
            self.filled &= !(1 << word);
        }
        had
    }
}

impl Index<usize> for Mask {
    type Output = u64;

    #[inline]
    fn index(&self, word: usize) -> &u64 {
        &self.words[word]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_words_that_hold_any_are_known(changes in proptest::collection::vec((0_usize..64, 0_u8..3, any::<u64>()), 0..50)) {
            let mut mask = Mask::new(64);
            for (word, kind, bits) in changes {
                // Few bits, so that words become empty again.
                let bits = bits & 7;
                match kind {
                    0 => mask.set(word, bits),
                    1 => mask.add(word, bits),
                    _ => {
                        let had = mask[word] & bits != 0;
                        prop_assert_eq!(mask.remove(word, bits), had);
                    }
                }
                let filled = (0..64).filter(|&word| mask[word] != 0).fold(0, |all, word| all | 1 << word);
                prop_assert_eq!(mask.filled(), filled);
                prop_assert_eq!(mask.is_empty(), mask.words().iter().all(|&word| word == 0));
            }
        }
    }
}
