//! The machine's topology as masks: each CPU's core, cache and node, and which of these are worth a search of their
//! own.

use crate::state::idle::place;
use keel_abi::{CpuId, NodeId, Topology};

/// Some CPUs of a set, within one word. Siblings may be in different words, since many machines
/// number all first threads before all second ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) word: u32,
    pub(super) bits: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Shape {
    topology: Topology,
    words: usize,
    /// Every core's parts, and for each CPU where its core's parts begin and end.
    parts: Vec<Part>,
    core_of: Vec<(u32, u32)>,
    llcs: Vec<u64>,
    nodes: Vec<u64>,
    /// For each cache and each node, a bit for each word that holds any of its CPUs.
    llc_spans: Vec<u64>,
    node_spans: Vec<u64>,
    /// From each node, the others by distance and number.
    others: Vec<Vec<NodeId>>,
    online: Vec<u64>,
    /// Whether any core has more than one CPU (`sched_smt_active()`).
    pub(super) smt: bool,
    /// Search within the cache first (`scx_selcpu_topo_llc`).
    pub(super) by_llc: bool,
    /// Search within the node next (`scx_selcpu_topo_numa`); only if masks are not per node.
    pub(super) by_node: bool,
}

impl Shape {
    pub(super) fn new(topology: &Topology) -> Self {
        let words = topology.cpus().div_ceil(64) as usize;
        let highest = |of: fn(keel_abi::topology::Place) -> usize| {
            topology.iter().map(|c| of(topology.place(c)) + 1).max().unwrap_or(0)
        };
        let (parts, core_of) = cores(topology, highest(|p| p.core.index()));
        let mut shape = Self {
            words,
            parts,
            core_of,
            llcs: vec![0; words * highest(|p| p.llc.index())],
            nodes: vec![0; words * topology.nodes() as usize],
            llc_spans: Vec::new(),
            node_spans: Vec::new(),
            others: (0..topology.nodes()).map(|n| others(topology, NodeId(n))).collect(),
            online: vec![0; words],
            smt: topology.has_smt(),
            by_llc: false,
            by_node: false,
            topology: topology.clone(),
        };
        for cpu in topology.iter() {
            let (word, bit) = place(cpu);
            let at = topology.place(cpu);
            shape.llcs[at.llc.index() * words + word] |= bit;
            shape.nodes[at.node.index() * words + word] |= bit;
            shape.online[word] |= bit;
        }
        shape.llc_spans = spans(&shape.llcs, words);
        shape.node_spans = spans(&shape.nodes, words);
        shape.weigh();
        shape
    }

    pub(super) const fn words(&self) -> usize {
        self.words
    }

    /// A bit for each word.
    #[inline]
    pub(super) const fn all_words(&self) -> u64 {
        u64::MAX >> (64 - self.words)
    }

    #[inline]
    pub(super) fn core(&self, cpu: CpuId) -> &[Part] {
        let (start, end) = self.core_of[cpu.index()];
        &self.parts[start as usize..end as usize]
    }

    #[inline]
    pub(super) fn llc(&self, cpu: CpuId) -> &[u64] {
        let llc = self.topology.place(cpu).llc.index();
        &self.llcs[llc * self.words..(llc + 1) * self.words]
    }

    /// A bit for each word that holds a CPU of this one's cache.
    #[inline]
    pub(super) fn llc_span(&self, cpu: CpuId) -> u64 {
        self.llc_spans[self.topology.place(cpu).llc.index()]
    }

    /// A bit for each word that holds a CPU of the node.
    #[inline]
    pub(super) fn node_span(&self, node: NodeId) -> u64 {
        self.node_spans[node.index()]
    }

    #[inline]
    pub(super) fn node_of(&self, cpu: CpuId) -> NodeId {
        self.topology.place(cpu).node
    }

    #[inline]
    pub(super) fn node(&self, node: NodeId) -> &[u64] {
        &self.nodes[node.index() * self.words..(node.index() + 1) * self.words]
    }

    pub(super) fn others(&self, node: NodeId) -> &[NodeId] {
        &self.others[node.index()]
    }

    pub(super) fn online(&self) -> &[u64] {
        &self.online
    }

    /// `cpus_share_cache()`.
    #[inline]
    pub(super) fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.topology.place(a).llc == self.topology.place(b).llc
    }

    pub(super) fn set_online(&mut self, cpu: CpuId, online: bool) {
        let (word, bit) = place(cpu);
        self.online[word] = if online { self.online[word] | bit } else { self.online[word] & !bit };
        self.weigh();
    }

    /// Decides which searches are worthwhile (`scx_idle_update_selcpu_topology()`): by cache, if the first CPU's cache
    /// does not have all CPUs; by node, if its node does not have all CPUs and nodes differ from caches. A cache of one
    /// CPU, or a single node, does not count.
    fn weigh(&mut self) {
        let weight =
            |mask: &[u64]| mask.iter().zip(&self.online).map(|(a, b)| (a & b).count_ones()).sum::<u32>();
        let none_below = |least: u32, n: u32| if n < least { 0 } else { n };
        let llc_weight = |cpu| none_below(2, weight(self.llc(cpu)));
        let one_node = self.topology.nodes() == 1;
        let node_weight = |cpu| if one_node { 0 } else { weight(self.node(self.node_of(cpu))) };
        let all = weight(&self.online);
        let mut online = self.topology.iter().filter(|&c| self.online[place(c).0] & place(c).1 != 0);
        let Some(first) = online.next() else { return };
        let (llc, node) = (llc_weight(first), node_weight(first));
        let mut mismatch = || llc != node || online.any(|c| llc_weight(c) != node_weight(c));
        let by_llc = llc > 0 && llc < all;
        let by_node = node > 0 && node < all && mismatch();
        (self.by_llc, self.by_node) = (by_llc, by_node);
    }
}

/// For each mask of `words` words, a bit for each word that is not 0.
fn spans(masks: &[u64], words: usize) -> Vec<u64> {
    let bit = |(word, &bits): (usize, &u64)| u64::from(bits != 0) << word;
    masks.chunks(words).map(|mask| mask.iter().enumerate().map(bit).sum()).collect()
}

/// Each core's parts in one list, and for each CPU where its core's parts begin and end.
fn cores(topology: &Topology, cores: usize) -> (Vec<Part>, Vec<(u32, u32)>) {
    let mut of_core: Vec<Vec<Part>> = vec![Vec::new(); cores];
    for cpu in topology.iter() {
        let (word, bit) = place(cpu);
        let parts = &mut of_core[topology.place(cpu).core.index()];
        match parts.iter_mut().find(|p| p.word as usize == word) {
            Some(part) => part.bits |= bit,
            None => parts.push(Part { word: word as u32, bits: bit }),
        }
    }
    let mut starts = vec![0];
    starts.extend(of_core.iter().scan(0, |end, parts| {
        *end += parts.len() as u32;
        Some(*end)
    }));
    let core_of = topology.iter().map(|c| topology.place(c).core.index());
    let core_of = core_of.map(|core| (starts[core], starts[core + 1])).collect();
    (of_core.concat(), core_of)
}

/// The nodes that have CPUs, by distance from `node`.
fn others(topology: &Topology, node: NodeId) -> Vec<NodeId> {
    let mut others: Vec<_> = (0..topology.nodes()).map(NodeId).filter(|&n| n != node).collect();
    others.sort_by_key(|&n| (topology.hops(node, n), n));
    others
}
