//! Encodes which CPUs hold a cache line in one word, for a machine of any size.
//!
//! On machines with up to 64 CPUs, each CPU has a bit. On larger ones, a bit represents a group of neighbours: part of
//! one last-level cache, or several caches if there are more than [`GROUPS`]. The upper bits then identify the CPU that
//! holds the line exclusively, so that two neighbours that write alternately pay for every transfer. The loss in
//! precision: a CPU reads a line for free once another CPU of its group has read it.

use crate::{CpuId, Topology};

/// The number of groups of CPUs on a machine with more than 64: as many of a word's lower bits show which of them hold a
/// line.
pub const GROUPS: u32 = 48;
const GROUP_BITS: u64 = (1 << GROUPS) - 1;

/// How a machine's CPUs are encoded in a line's word.
#[derive(Clone, Debug)]
pub struct Holders {
    keys: Vec<HolderKey>,
    /// Two CPUs of each group; the same one twice if it has only one.
    members: Vec<[CpuId; 2]>,
    grouped: bool,
    /// The bits of a word that represent CPUs or their groups.
    bits: u64,
}

/// How one CPU is encoded in a line's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderKey {
    /// The bit that is set while the CPU, or its group, may read the line.
    pub shared: u64,
    /// The whole word while the CPU holds the line exclusively and may write it.
    pub alone: u64,
}

impl Holders {
    /// Creates the encoding for a machine with this shape.
    pub fn new(topology: &Topology) -> Self {
        if topology.cpus() <= u64::BITS {
            let key = |cpu: CpuId| HolderKey { shared: 1 << cpu.0, alone: 1 << cpu.0 };
            let members = topology.iter().map(|cpu| [cpu; 2]).collect();
            return Self {
                keys: topology.iter().map(key).collect(),
                members,
                grouped: false,
                bits: u64::MAX,
            };
        }
        let mut keys = vec![HolderKey { shared: 0, alone: 0 }; topology.cpus() as usize];
        let mut members = Vec::new();
        for group in groups(topology) {
            let shared = 1 << members.len();
            for &cpu in &group {
                keys[cpu.index()] = HolderKey { shared, alone: shared | u64::from(cpu.0 + 1) << GROUPS };
            }
            members.push([group[0], group[1 % group.len()]]);
        }
        Self { keys, members, grouped: true, bits: GROUP_BITS }
    }

    /// Returns the words that represent a CPU.
    #[inline]
    pub fn key(&self, cpu: CpuId) -> HolderKey {
        self.keys[cpu.index()]
    }

    /// Returns the words that represent a CPU, by its number, or `None` if there is no such CPU.
    #[inline]
    pub(crate) fn get(&self, cpu: usize) -> Option<&HolderKey> {
        self.keys.get(cpu)
    }

    /// Returns whether a bit represents several CPUs.
    pub const fn grouped(&self) -> bool {
        self.grouped
    }

    /// Returns the word after `cpu` has read the line too.
    #[inline]
    pub(crate) fn with(&self, word: u64, cpu: CpuId) -> u64 {
        self.joined(word, self.key(cpu).shared)
    }

    /// Like [`Holders::with`], for the CPU whose bit is `shared`.
    #[inline]
    pub(crate) fn joined(&self, word: u64, shared: u64) -> u64 {
        word & self.bits | shared
    }

    /// Returns the word after `cpu`'s cache has evicted the line.
    #[inline]
    pub fn without(&self, word: u64, cpu: CpuId) -> u64 {
        word & !self.key(cpu).shared & self.bits
    }

    /// Returns a holder other than `cpu`, if the word shows one.
    pub(crate) fn other(&self, word: u64, cpu: CpuId) -> CpuId {
        let mine = self.key(cpu).shared;
        let others = self.without(word, cpu);
        let group = if others == 0 { mine } else { others }.trailing_zeros() as usize;
        let [first, second] = self.members[group];
        if first == cpu { second } else { first }
    }
}

/// Divides all CPUs into at most [`GROUPS`] groups of neighbours.
fn groups(topology: &Topology) -> Vec<Vec<CpuId>> {
    let place = |cpu: CpuId| topology.place(cpu);
    let mut cpus: Vec<CpuId> = topology.iter().collect();
    cpus.sort_by_key(|&cpu| (place(cpu).node, place(cpu).llc, place(cpu).core, cpu));
    let caches: Vec<&[CpuId]> = cpus.chunk_by(|&a, &b| place(a).llc == place(b).llc).collect();
    if caches.len() > GROUPS as usize {
        let together = caches.len().div_ceil(GROUPS as usize);
        return caches.chunks(together).map(<[_]>::concat).collect();
    }
    let parts = GROUPS as usize / caches.len();
    caches.iter().flat_map(|cache| cache.chunks(cache.len().div_ceil(parts))).map(<[_]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(topology: &Topology, expected_groups: usize, expected_largest: usize) {
        let found = groups(topology);
        assert_eq!(found.len(), expected_groups);
        assert_eq!(found.iter().map(Vec::len).max(), Some(expected_largest));
        let mut all: Vec<CpuId> = found.concat();
        all.sort();
        assert_eq!(all, topology.iter().collect::<Vec<_>>());
    }

    #[test]
    fn groups_are_parts_of_a_cache_or_whole_caches() {
        check(&Topology::regular(8, 1, 8, 2), 48, 3);
        check(&Topology::regular(2, 8, 8, 1), 48, 3);
        check(&Topology::regular(4, 8, 8, 1), 32, 8);
        check(&Topology::regular(64, 8, 8, 1), 47, 88);
    }

    #[test]
    fn a_word_names_who_holds_a_line() {
        let holders = Holders::new(&Topology::regular(4, 8, 8, 1));
        let [a, beside, far] = [0, 1, 200].map(CpuId);
        let alone = holders.key(a).alone;
        assert_ne!(alone, holders.key(beside).alone);
        assert_eq!(holders.without(alone, a), 0);
        let both = holders.with(alone, far);
        assert_eq!(both, holders.key(a).shared | holders.key(far).shared);
        assert_eq!(holders.other(both, a), CpuId(200));
        assert_eq!(holders.other(holders.key(a).shared, a), beside);
    }
}
