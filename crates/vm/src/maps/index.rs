//! Maps a key to the slot of its element.
//!
//! Open addressing with linear probing, by a hash without a secret, since a run must be repeatable. So an attacker can
//! choose keys that collide. When a key would be too far from its home, or a removal has to move too much, the index
//! becomes a tree for good.

use std::collections::BTreeMap;

/// How far from its home a key may be. Keys that were not chosen by an attacker stay well below, at half load.
const MAX_PROBE: usize = 128;
/// How many entries a removal may visit.
const MAX_SHIFT: usize = 4096;

/// The keys of the elements by their slots, where no program can reach them.
pub(super) struct Keys {
    bytes: Vec<u8>,
    size: usize,
}

impl Keys {
    pub(super) fn new(size: usize) -> Self {
        Self { bytes: Vec::new(), size }
    }

    pub(super) fn get(&self, slot: u32) -> &[u8] {
        &self.bytes[slot as usize * self.size..][..self.size]
    }

    pub(super) fn set(&mut self, slot: u32, key: &[u8]) {
        let at = slot as usize * self.size;
        if self.bytes.len() < at + self.size {
            self.bytes.resize(at + self.size, 0);
        }
        self.bytes[at..at + self.size].copy_from_slice(key);
    }

    /// Gives slot `to` the key of slot `from`.
    pub(super) fn copy(&mut self, from: u32, to: u32) {
        let (from, to) = (from as usize * self.size, to as usize * self.size);
        if self.bytes.len() < to + self.size {
            self.bytes.resize(to + self.size, 0);
        }
        self.bytes.copy_within(from..from + self.size, to);
    }
}

/// An index over [`Keys`].
pub(super) enum Index {
    Open(Open),
    Tree(BTreeMap<Box<[u8]>, u32>),
}

impl Index {
    pub(super) fn new() -> Self {
        Self::Open(Open { table: vec![0; 16], len: 0 })
    }

    /// The slot of `key`.
    #[inline]
    pub(super) fn find(&self, key: &[u8], keys: &Keys) -> Option<u32> {
        match self {
            Self::Open(open) => open.find(key, keys).map(|at| slot_of(open.table[at])),
            Self::Tree(tree) => tree.get(key).copied(),
        }
    }

    /// Adds the key of `slot`, which the index does not have.
    pub(super) fn insert(&mut self, slot: u32, keys: &Keys) {
        match self {
            Self::Open(open) => {
                if !open.insert(entry(keys.get(slot), slot)) {
                    self.become_tree(keys);
                    self.insert(slot, keys);
                }
            }
            Self::Tree(tree) => {
                tree.insert(keys.get(slot).into(), slot);
            }
        }
    }

    /// Removes the key of `slot`, which the index has.
    pub(super) fn remove(&mut self, slot: u32, keys: &Keys) {
        match self {
            Self::Open(open) => {
                let at = open.find(keys.get(slot), keys).expect("the index has the key");
                if !open.remove(at) {
                    self.become_tree(keys);
                }
            }
            Self::Tree(tree) => {
                tree.remove(keys.get(slot));
            }
        }
    }

    fn become_tree(&mut self, keys: &Keys) {
        if let Self::Open(open) = self {
            let entries = open.table.iter().filter(|&&e| e != 0).map(|&e| slot_of(e));
            *self = Self::Tree(entries.map(|slot| (keys.get(slot).into(), slot)).collect());
        }
    }
}

/// The table: each entry is a hash and a slot plus 1; 0 is none.
pub(super) struct Open {
    table: Vec<u64>,
    len: usize,
}

impl Open {
    #[inline]
    fn home(&self, entry: u64) -> usize {
        (entry >> 32) as usize & (self.table.len() - 1)
    }

    /// Where the table has the key.
    #[inline]
    fn find(&self, key: &[u8], keys: &Keys) -> Option<usize> {
        let wanted = entry(key, 0);
        let mut at = self.home(wanted);
        for _ in 0..=MAX_PROBE {
            let found = self.table[at];
            if found == 0 {
                return None;
            }
            if found >> 32 == wanted >> 32 && same(keys.get(slot_of(found)), key) {
                return Some(at);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        None
    }

    /// Adds an entry; if it would be too far from its home, adds nothing and returns false.
    fn insert(&mut self, entry: u64) -> bool {
        if (self.len + 1) * 2 > self.table.len() && !self.grow() {
            return false;
        }
        let added = put(&mut self.table, entry);
        self.len += usize::from(added);
        added
    }

    fn grow(&mut self) -> bool {
        let mut table = vec![0; self.table.len() * 2];
        let fits = self.table.iter().filter(|&&e| e != 0).all(|&e| put(&mut table, e));
        if fits {
            self.table = table;
        }
        fits
    }

    /// Removes the entry at `hole` and closes the gap; returns false if that visited too many entries.
    fn remove(&mut self, mut hole: usize) -> bool {
        let mask = self.table.len() - 1;
        let mut at = hole;
        let mut passed = 0;
        loop {
            at = (at + 1) & mask;
            let entry = self.table[at];
            if entry == 0 {
                break;
            }
            // It may move back to the hole unless its home is behind the hole.
            let home = self.home(entry);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.table[hole] = entry;
                hole = at;
            }
            passed += 1;
        }
        self.table[hole] = 0;
        self.len -= 1;
        passed <= MAX_SHIFT
    }
}

fn put(table: &mut [u64], entry: u64) -> bool {
    let mask = table.len() - 1;
    let home = (entry >> 32) as usize;
    let free = (0..=MAX_PROBE.min(mask)).map(|i| (home + i) & mask).find(|&at| table[at] == 0);
    free.map(|at| table[at] = entry).is_some()
}

#[inline]
fn entry(key: &[u8], slot: u32) -> u64 {
    hash(key) << 32 | (u64::from(slot) + 1)
}

#[inline]
fn slot_of(entry: u64) -> u32 {
    entry as u32 - 1
}

/// Returns whether the keys are the same. The usual sizes need no call.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    if let (Some(a), Some(b)) = (a.as_array::<4>(), b.as_array::<4>()) {
        a == b
    } else if let (Some(a), Some(b)) = (a.as_array::<8>(), b.as_array::<8>()) {
        a == b
    } else {
        a == b
    }
}

/// Folds eight bytes at a time by a multiplication; 32 bits are meaningful.
#[inline]
fn hash(key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ key.len() as u64;
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        state = fold(state ^ u64::from_le_bytes(word));
    }
    fold(state) >> 32
}

#[inline]
fn fold(word: u64) -> u64 {
    let wide = u128::from(word) * 0xd6e8_feb8_6659_fd93;
    (wide >> 64) as u64 ^ wide as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts keys and removes every other one: lookups must agree with a plain map.
    fn check(keys: impl Iterator<Item = u64>, becomes_tree: bool) {
        let (mut index, mut stored) = (Index::new(), Keys::new(8));
        let mut model = BTreeMap::new();
        for (slot, key) in (0..).zip(keys) {
            stored.set(slot, &key.to_le_bytes());
            index.insert(slot, &stored);
            model.insert(key, slot);
        }
        assert_eq!(matches!(index, Index::Tree(_)), becomes_tree);
        let gone: Vec<u64> = model.keys().copied().step_by(2).collect();
        for key in gone {
            let slot = model.remove(&key).unwrap();
            index.remove(slot, &stored);
            assert_eq!(index.find(&key.to_le_bytes(), &stored), None);
        }
        for (key, slot) in model {
            assert_eq!(index.find(&key.to_le_bytes(), &stored), Some(slot), "{key:#x}");
        }
    }

    #[test]
    fn ordinary_keys_stay_in_the_table() {
        check(0..50_000, false);
        check((0..50_000).map(|n| n << 32), false);
        check((0..50_000).map(|n| 0xffff_c900_0000_0000 + n * 9856), false);
    }

    #[test]
    fn keys_chosen_to_collide_make_it_a_tree() {
        // The low 12 bits of the hash are the home in any table of up to 4096 entries.
        check((0..).filter(|n: &u64| hash(&n.to_le_bytes()) & 0xfff == 7).take(400), true);
    }

    #[test]
    fn a_long_run_of_displaced_keys_makes_it_a_tree() {
        let (mut index, mut stored) = (Index::new(), Keys::new(8));
        let Index::Open(open) = &mut index else { unreachable!() };
        // Two keys at home 0 and one at each home after it: all but the first are displaced.
        open.table = vec![0; 1 << 14];
        let wanted = (0..6000_u64).map(|n| n.saturating_sub(1));
        let mut by_home = vec![Vec::new(); 1 << 14];
        for n in 0..400_000_u64 {
            by_home[hash(&n.to_le_bytes()) as usize & ((1 << 14) - 1)].push(n);
        }
        let keys: Vec<u64> = wanted.filter_map(|home| by_home[home as usize].pop()).collect();
        assert_eq!(keys.len(), 6000);
        for (slot, key) in (0..).zip(&keys) {
            stored.set(slot, &key.to_le_bytes());
            index.insert(slot, &stored);
        }
        assert!(matches!(index, Index::Open(_)));
        index.remove(0, &stored);
        assert!(matches!(index, Index::Tree(_)));
        assert!((1..6000).all(|slot| index.find(stored.get(slot), &stored) == Some(slot)));
    }
}
