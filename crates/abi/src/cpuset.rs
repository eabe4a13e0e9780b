//! Sets of CPUs, of any size.
//!
//! They are written as in the kernel's lists: `0-3,8`. Empty high words are never kept, so that equal sets are equal
//! values. A set of up to 256 CPUs needs no heap memory, so copying it is cheap.

use crate::CpuId;
use smallvec::{SmallVec, smallvec};
use std::fmt;
use std::str::FromStr;

/// CPU numbers in a list must be below this, so that an untrusted list can't request a huge set.
pub const MAX_CPUS: u32 = 4096;

/// A set of CPUs.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet {
    words: SmallVec<[u64; 4]>,
}

impl Clone for CpuSet {
    // The derived implementation copies word by word.
    fn clone(&self) -> Self {
        Self { words: SmallVec::from_slice(&self.words) }
    }
}

/// A CPU list that could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCpuList(pub String);

impl fmt::Display for BadCpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a CPU list such as 0-3,8 (below {MAX_CPUS})", self.0)
    }
}

impl std::error::Error for BadCpuList {}

impl CpuSet {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self { words: SmallVec::new_const() }
    }

    /// Creates the set of CPUs 0 to `n - 1`.
    pub fn first(n: u32) -> Self {
        let mut words = smallvec![u64::MAX; n as usize / 64];
        if !n.is_multiple_of(64) {
            words.push((1 << (n % 64)) - 1);
        }
        Self { words }
    }

    /// Adds `cpu`. Returns whether it was new.
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Removes `cpu`. Returns whether it was in the set.
    pub fn remove(&mut self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        let was = self.contains(cpu);
        if was {
            self.words[word] &= !bit;
            self.trim();
        }
        was
    }

    /// Returns whether `cpu` is in the set.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        self.words.get(word).is_some_and(|w| w & bit != 0)
    }

    /// Returns the number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the lowest CPU in the set.
    pub fn lowest(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// Returns the highest CPU in the set.
    pub fn highest(&self) -> Option<CpuId> {
        let word = self.words.last()?;
        Some(CpuId(self.words.len() as u32 * 64 - 1 - word.leading_zeros()))
    }

    /// Returns the CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.iter_from(CpuId(0))
    }

    /// Returns the CPUs from `first` on, in ascending order.
    pub fn iter_from(&self, first: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        let (start, bit) = place(first);
        let mut word = start;
        let mut left = self.words.get(start).map_or(0, |w| w & !(bit - 1));
        std::iter::from_fn(move || {
            while left == 0 {
                word += 1;
                left = *self.words.get(word)?;
            }
            let bit = left.trailing_zeros();
            left &= left - 1;
            Some(CpuId(word as u32 * 64 + bit))
        })
    }

    /// Returns the bits as 64-bit words, lowest CPUs first. Words past the end count as 0.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Creates a set from these bits.
    pub fn from_words(words: &[u64]) -> Self {
        let mut set = Self { words: SmallVec::from_slice(words) };
        set.trim();
        set
    }

    /// Returns the intersection.
    pub fn and(&self, other: &Self) -> Self {
        let mut set = Self { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() };
        set.trim();
        set
    }

    /// Returns whether every CPU in this set is also in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.iter().enumerate().all(|(i, w)| w & !other.words.get(i).copied().unwrap_or(0) == 0)
    }

    /// Returns whether the sets share a CPU.
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

#[inline]
const fn place(cpu: CpuId) -> (usize, u64) {
    (cpu.0 as usize / 64, 1 << (cpu.0 % 64))
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(|c| c.0).peekable();
        let mut first = true;
        while let Some(start) = cpus.next() {
            let mut end = start;
            while cpus.next_if_eq(&(end + 1)).is_some() {
                end += 1;
            }
            let comma = if first { "" } else { "," };
            first = false;
            match end == start {
                true => write!(f, "{comma}{start}")?,
                false => write!(f, "{comma}{start}-{end}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for CpuSet {
    type Err = BadCpuList;

    fn from_str(list: &str) -> Result<Self, BadCpuList> {
        let bad = || BadCpuList(list.to_owned());
        let number = |s: &str| s.trim().parse::<u32>().ok().filter(|&n| n < MAX_CPUS).ok_or_else(bad);
        let mut set = Self::new();
        for part in list.split(',').filter(|p| !p.trim().is_empty()) {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (number(from)?, number(to)?);
            if from > to {
                return Err(bad());
            }
            set.extend_range(from, to);
        }
        Ok(set)
    }
}

impl CpuSet {
    fn extend_range(&mut self, from: u32, to: u32) {
        for cpu in from..=to {
            self.insert(CpuId(cpu));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_and_print() {
        let check = |list: &str, expected: &str| {
            assert_eq!(list.parse::<CpuSet>().map(|s| s.to_string()), Ok(expected.to_owned()));
        };
        check("", "");
        check("3", "3");
        check("0-3,8", "0-3,8");
        check("8, 1,0, 2", "0-2,8");
        check("63-65", "63-65");
        for bad in ["x", "3-1", "0-", "9999999"] {
            assert!(bad.parse::<CpuSet>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_ones_are_in_the_set() {
        for n in [0, 1, 63, 64, 65, 128, 4096] {
            assert_eq!(CpuSet::first(n), (0..n).map(CpuId).collect(), "{n}");
        }
    }

    #[test]
    fn iterating_may_begin_anywhere() {
        let check = |list: &str, first: u32, expected: &[u32]| {
            let set: CpuSet = list.parse().unwrap();
            let found: Vec<u32> = set.iter_from(CpuId(first)).map(|cpu| cpu.0).collect();
            assert_eq!(found, expected, "{list} from {first}");
        };
        check("", 0, &[]);
        check("1,3,64,300", 0, &[1, 3, 64, 300]);
        check("1,3,64,300", 3, &[3, 64, 300]);
        check("1,3,64,300", 4, &[64, 300]);
        check("1,3,64,300", 65, &[300]);
        check("1,3,64,300", 301, &[]);
        check("1,3,64,300", 9999, &[]);
        check("63", 63, &[63]);
    }

    #[test]
    fn equal_sets_are_equal_values() {
        let mut a = CpuSet::first(100);
        for cpu in 3..100 {
            a.remove(CpuId(cpu));
        }
        assert_eq!(a, CpuSet::first(3));
        assert_eq!(a.len(), 3);
        assert!(a.is_subset(&CpuSet::first(64)));
        assert!(!CpuSet::first(65).is_subset(&a));
    }
}
