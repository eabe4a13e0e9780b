//! Topological CPU ids (`kernel/sched/ext/cid.c`): CPUs that share a core, a cache or a node have consecutive cids.

use keel_abi::{CpuId, Topology};
use std::collections::BTreeMap;

/// A cid's place, as in `struct scx_cid_topo`: for its core, its cache and its node, the first cid and the index.
pub(crate) type CidTopo = [i32; 6];

/// The place of a cid whose CPU was offline, or that the scheduler assigned itself.
pub(crate) const NOWHERE: CidTopo = [-1; 6];

/// An error in the scheduler's own mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadCid {
    /// There is no such cid.
    Invalid(i32),
    /// Two CPUs have it.
    Taken(i32),
}

/// The cid of each CPU. Empty until a scheduler is first enabled; then it stays until the next one replaces it.
#[derive(Debug, Default)]
pub(crate) struct Cids {
    to_cpu: Vec<CpuId>,
    to_cid: Vec<u32>,
    /// By cid; empty while no scheduler is enabled.
    topo: Vec<CidTopo>,
}

impl Cids {
    /// `scx_cid_init()`: the online CPUs go first, node by node, cache by cache, core by core, each in the order of its
    /// lowest CPU; the others follow in their own order, and have no place.
    pub(crate) fn probe(&mut self, topology: &Topology, is_online: impl Fn(CpuId) -> bool) {
        self.to_cpu.clear();
        self.topo.clear();
        let place = |cpu| topology.place(cpu);
        let online: Vec<CpuId> = topology.iter().filter(|&cpu| is_online(cpu)).collect();
        let (mut cores, mut llcs) = (0, 0);
        for (nth_node, node) in split(&online, |cpu| place(cpu).node).into_iter().enumerate() {
            let node_cid = self.to_cpu.len() as i32;
            for llc in split(&node, |cpu| place(cpu).llc) {
                let llc_cid = self.to_cpu.len() as i32;
                for core in split(&llc, |cpu| place(cpu).core) {
                    let core_cid = self.to_cpu.len() as i32;
                    let topo = [core_cid, cores, llc_cid, llcs, node_cid, nth_node as i32];
                    self.topo.extend(core.iter().map(|_| topo));
                    self.to_cpu.extend(core);
                    cores += 1;
                }
                llcs += 1;
            }
        }
        self.to_cpu.extend(topology.iter().filter(|&cpu| !is_online(cpu)));
        self.topo.resize(self.to_cpu.len(), NOWHERE);
        self.to_cid = vec![0; self.to_cpu.len()];
        for (cid, cpu) in self.to_cpu.iter().enumerate() {
            self.to_cid[cpu.index()] = cid as u32;
        }
    }

    /// `scx_bpf_cid_override()`: sets the cid of each CPU, in the order of CPUs. Cids before an invalid one take
    /// effect.
    pub(crate) fn set(&mut self, cids: impl IntoIterator<Item = i32>) -> Result<(), BadCid> {
        let mut seen = vec![false; self.to_cpu.len()];
        for (cpu, cid) in cids.into_iter().enumerate().take(self.to_cid.len()) {
            let place = usize::try_from(cid).ok().filter(|&place| place < seen.len());
            let place = place.ok_or(BadCid::Invalid(cid))?;
            if std::mem::replace(&mut seen[place], true) {
                return Err(BadCid::Taken(cid));
            }
            self.to_cid[cpu] = place as u32;
            self.to_cpu[place] = CpuId(cpu as u32);
        }
        self.topo.fill(NOWHERE);
        Ok(())
    }

    /// The scheduler has exited: removes the places of its cids.
    pub(crate) fn forget_topology(&mut self) {
        self.topo.clear();
    }

    /// The cid of a CPU, if there are cids.
    #[inline]
    pub(crate) fn of(&self, cpu: CpuId) -> Option<u32> {
        self.to_cid.get(cpu.index()).copied()
    }

    /// The CPU of a cid.
    #[inline]
    pub(crate) fn cpu(&self, cid: i32) -> Option<CpuId> {
        usize::try_from(cid).ok().and_then(|cid| self.to_cpu.get(cid)).copied()
    }

    /// The place of a cid.
    pub(crate) fn topo(&self, cid: i32) -> CidTopo {
        usize::try_from(cid).ok().and_then(|cid| self.topo.get(cid)).copied().unwrap_or(NOWHERE)
    }
}

/// Groups CPUs by what they share, in the order of each group's first CPU.
fn split<K: Ord>(cpus: &[CpuId], shared: impl Fn(CpuId) -> K) -> Vec<Vec<CpuId>> {
    let mut numbers = BTreeMap::new();
    let mut groups: Vec<Vec<CpuId>> = Vec::new();
    for &cpu in cpus {
        let number = *numbers.entry(shared(cpu)).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(cpu);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::topology::Place;
    use keel_abi::{CoreId, LlcId, NodeId};

    /// The cids of a machine with one CPU per triple of core, cache and node.
    fn probed(places: &[(u32, u32, u32)], offline: &[u32]) -> Cids {
        let place = |&(core, llc, node)| Place { core: CoreId(core), llc: LlcId(llc), node: NodeId(node) };
        let places = places.iter().map(place).collect();
        let mut cids = Cids::default();
        cids.probe(&Topology::new(places, vec![vec![0, 1], vec![1, 0]]), |cpu| !offline.contains(&cpu.0));
        cids
    }

    fn shown(cids: &Cids) -> String {
        let line = |(cid, cpu): (usize, &CpuId)| format!("{}:{:?}", cpu.0, cids.topo(cid as i32));
        cids.to_cpu.iter().enumerate().map(line).collect::<Vec<_>>().join(" ").replace(", ", ",")
    }

    #[test]
    fn cids_follow_the_topology() {
        let check = |places: &[(u32, u32, u32)], offline: &[u32], expected: &str| {
            let cids = probed(places, offline);
            assert_eq!(shown(&cids), expected);
            for (cid, &cpu) in cids.to_cpu.iter().enumerate() {
                assert_eq!(cids.of(cpu), Some(cid as u32));
            }
        };
        // Siblings far apart, as on x86.
        let smt = [(0, 0, 0), (1, 0, 0), (0, 0, 0), (1, 0, 0)];
        check(&smt, &[], "0:[0,0,0,0,0,0] 2:[0,0,0,0,0,0] 1:[2,1,0,0,0,0] 3:[2,1,0,0,0,0]");
        // The lowest CPU is on the second node, so that node's cids come first.
        let nodes = [(0, 1, 1), (1, 0, 0), (2, 1, 1)];
        check(&nodes, &[], "0:[0,0,0,0,0,0] 2:[1,1,0,0,0,0] 1:[2,2,2,1,2,1]");
        // An offline CPU has no place, even if its sibling has one.
        check(&smt, &[0], "1:[0,0,0,0,0,0] 3:[0,0,0,0,0,0] 2:[2,1,0,0,0,0] 0:[-1,-1,-1,-1,-1,-1]");
    }

    #[test]
    fn a_mapping_of_its_own_is_one_to_one() {
        let check = |wanted: &[i32], expected: Result<(), BadCid>| {
            let mut cids = probed(&[(0, 0, 0), (1, 0, 0), (2, 0, 1)], &[]);
            assert_eq!(cids.set(wanted.iter().copied()), expected);
            if expected.is_ok() {
                let got: Vec<_> = (0..3).map(|cpu| cids.of(CpuId(cpu)).unwrap() as i32).collect();
                assert_eq!(got, wanted);
                assert_eq!(cids.topo(0), NOWHERE);
            }
        };
        check(&[2, 1, 0], Ok(()));
        check(&[2, 2, 0], Err(BadCid::Taken(2)));
        check(&[0, 3, 1], Err(BadCid::Invalid(3)));
        check(&[0, -1, 1], Err(BadCid::Invalid(-1)));
    }
}
