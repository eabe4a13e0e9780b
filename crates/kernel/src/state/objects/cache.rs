//! Working sets in caches: how much of a task's memory has to be fetched to its CPU again.
//!
//! Each cache holds working sets, least recently used first, and evicts the oldest bytes when it is full. A set is
//! traversed from beginning to end, so if it does not fit, or would have to evict itself, no part of it hits: as in a
//! cache with strict LRU replacement.

use crate::state::cost::{Bus, Costs};
use keel_abi::{CpuId, TaskId, Topology};
use std::collections::VecDeque;

/// All caches of a machine.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    l1: Vec<Cache>,
    l2: Vec<Cache>,
    /// By LLC domain.
    llc: Vec<Cache>,
    /// The LLC domain of each CPU.
    domains: Vec<usize>,
}

impl Caches {
    pub(crate) fn new(topology: &Topology, costs: &Costs) -> Self {
        let domains: Vec<usize> = topology.iter().map(|c| topology.place(c).llc.0 as usize).collect();
        let cpus = domains.len();
        let llcs = domains.iter().max().map_or(0, |most| most + 1);
        Self {
            l1: vec![Cache::new(costs.l1_kb); cpus],
            l2: vec![Cache::new(costs.l2_kb); cpus],
            llc: vec![Cache::new(costs.llc_kb); llcs],
            domains,
        }
    }

    /// `task` reads `bytes` on `c`. Returns the nanoseconds beyond finding all of it in the nearest cache.
    pub(crate) fn touch_ns(&mut self, costs: &Costs, bus: &Bus, c: CpuId, task: TaskId, bytes: u64) -> u64 {
        let kb = bytes.div_ceil(1024);
        let l1 = kb - self.l1[c.index()].touch(task, kb);
        let l2 = l1.min(kb - self.l2[c.index()].touch(task, kb));
        let llc = l2.min(kb - self.llc[self.domains[c.index()]].touch(task, kb));
        let from_caches = (l1 - l2)
            .saturating_mul(costs.l2_kb_ns)
            .saturating_add((l2 - llc).saturating_mul(costs.llc_kb_ns));
        from_caches.saturating_add(bus.slowed_ns(c, llc.saturating_mul(costs.memory_kb_ns)))
    }
}

/// One cache: at most as many sets as it has KiB.
#[derive(Clone, Debug)]
struct Cache {
    size_kb: u64,
    used_kb: u64,
    /// Each set's owner and its size here: least recently used first, none empty.
    sets: VecDeque<(TaskId, u64)>,
}

impl Cache {
    const fn new(size_kb: u64) -> Self {
        Self { size_kb, used_kb: 0, sets: VecDeque::new() }
    }

    /// `owner` reads `kb` of memory, which is then here as far as it fits. Returns how much was here.
    fn touch(&mut self, owner: TaskId, kb: u64) -> u64 {
        if self.size_kb == 0 || kb == 0 {
            return 0;
        }
        let at = self.sets.iter().rposition(|&(of, _)| of == owner);
        let had = at.and_then(|at| self.sets.remove(at)).map_or(0, |(_, kb)| kb);
        let free = self.size_kb - self.used_kb;
        self.used_kb -= had;
        let displaces_itself = at == Some(0) && kb > had && kb - had > free;
        let found = if kb > self.size_kb || displaces_itself { 0 } else { had.min(kb) };
        let keeps = kb.max(had).min(self.size_kb);
        self.make_room(keeps);
        self.sets.push_back((owner, keeps));
        self.used_kb += keeps;
        found
    }

    fn make_room(&mut self, kb: u64) {
        let mut over = (self.used_kb + kb).saturating_sub(self.size_kb);
        self.used_kb -= over;
        while over > 0 {
            let oldest = self.sets.front_mut().expect("what is used belongs to somebody");
            let taken = oldest.1.min(over);
            oldest.1 -= taken;
            over -= taken;
            if oldest.1 == 0 {
                self.sets.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tasks read these numbers of KiB one after the other: checks what each found in a cache of `size` KiB.
    fn check(size: u64, touches: &[(u32, u64)], expected: &[u64]) {
        let mut cache = Cache::new(size);
        let found: Vec<_> = touches.iter().map(|&(task, kb)| cache.touch(TaskId(task), kb)).collect();
        assert_eq!(found, expected, "{size} KiB: {touches:?}");
    }

    #[test]
    fn the_oldest_set_goes_first() {
        check(16, &[(1, 8), (1, 8), (2, 8), (1, 8), (3, 8), (1, 8), (2, 8)], &[0, 8, 0, 8, 0, 8, 0]);
        check(16, &[(1, 12), (2, 8), (3, 4), (1, 4)], &[0, 0, 0, 4]);
        check(0, &[(1, 8), (1, 8)], &[0, 0]);
    }

    #[test]
    fn a_set_that_displaces_itself_is_not_found() {
        check(16, &[(1, 17), (1, 17), (1, 16)], &[0, 0, 16]);
        check(16, &[(1, 10), (2, 10), (1, 10), (2, 10)], &[0, 0, 0, 0]);
    }

    #[test]
    fn what_is_not_near_comes_from_as_near_as_it_is() {
        let costs = Costs {
            l1_kb: 16,
            l2_kb: 32,
            llc_kb: 64,
            l2_kb_ns: 1,
            llc_kb_ns: 10,
            memory_kb_ns: 100,
            ..Costs::default()
        };
        let topology = Topology::regular(1, 1, 2, 1);
        let (mut caches, bus) = (Caches::new(&topology, &costs), Bus::new(&topology, &costs));
        let mut touch = |c, task, kb: u64| caches.touch_ns(&costs, &bus, CpuId(c), TaskId(task), kb * 1024);
        assert_eq!([touch(0, 1, 16), touch(0, 1, 16)], [1600, 0], "cold, then warm");
        assert_eq!([touch(0, 2, 16), touch(0, 1, 16)], [1600, 16], "in the second level");
        assert_eq!(touch(1, 1, 16), 160, "moved to the other CPU of the LLC");
        assert_eq!([touch(0, 3, 32), touch(0, 1, 16)], [3200, 160]);
        assert_eq!(touch(0, 1, 0), 0);
    }

    proptest! {
        #[test]
        fn a_cache_is_never_overfull(size in 1u64..40, touches in prop::collection::vec((0u32..6, 1u64..50), 0..60)) {
            let mut cache = Cache::new(size);
            for (task, kb) in touches {
                let found = cache.touch(TaskId(task), kb);
                prop_assert!(found <= kb);
                let sum: u64 = cache.sets.iter().map(|&(_, kb)| kb).sum();
                prop_assert!(sum == cache.used_kb && sum <= size);
                prop_assert!(cache.sets.iter().all(|&(_, kb)| kb > 0));
                prop_assert_eq!(cache.touch(TaskId(task), kb), if kb > size { 0 } else { kb });
            }
        }
    }
}
