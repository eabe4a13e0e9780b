//! Picking an idle CPU from a set: fully idle cores first, and successive picks go around the set, so that they spread
//! over all CPUs.

use crate::state::idle::{IdleMask, IdleMasks, word_of};
use keel_abi::scx::pick_idle::{CORE, IN_NODE};
use keel_abi::{CpuId, NodeId};

impl IdleMasks {
    /// Claims an idle CPU of `allowed` (`scx_pick_idle_cpu()`) for the searching CPU `on`. With per-node masks, the
    /// search begins at `node`, which must otherwise be `None`. `flags` are `SCX_PICK_IDLE_*`.
    pub fn pick_idle(
        &mut self,
        on: CpuId,
        allowed: &[u64],
        node: Option<NodeId>,
        flags: u64,
    ) -> Option<CpuId> {
        self.pick_among(on, |_, word| word_of(allowed, word), node, flags)
    }

    /// Claims an idle CPU of `allowed`, or else returns any of them (`scx_bpf_pick_any_cpu()` and its `_node` variant).
    /// `tracked` says that idle tracking is on.
    pub fn pick_any(
        &mut self,
        on: CpuId,
        allowed: &[u64],
        node: Option<NodeId>,
        flags: u64,
        tracked: bool,
    ) -> Option<CpuId> {
        if tracked && let Some(cpu) = self.pick_idle(on, allowed, node, flags) {
            return Some(cpu);
        }
        match node {
            Some(node) if flags & IN_NODE != 0 => {
                let both: Vec<u64> =
                    self.shape.node(node).iter().enumerate().map(|(i, w)| w & word_of(allowed, i)).collect();
                self.any_distribute(on, &both)
            }
            _ => self.any_distribute(on, allowed),
        }
    }

    /// The next CPU of `set`, wrapping around, after the one that `on` got last (`cpumask_any_distribute()`).
    pub fn any_distribute(&mut self, on: CpuId, set: &[u64]) -> Option<CpuId> {
        self.next_around(on, self.shape.all_words(), |_, word| word_of(set, word))
    }

    /// Like [`IdleMasks::any_distribute`], for the CPUs that are in both sets (`cpumask_any_and_distribute()`).
    pub fn any_and_distribute(&mut self, on: CpuId, a: &[u64], b: &[u64]) -> Option<CpuId> {
        self.next_around(on, self.shape.all_words(), |_, word| word_of(a, word) & word_of(b, word))
    }

    /// [`IdleMasks::pick_idle`] with the set given word by word.
    #[inline]
    pub(super) fn pick_among(
        &mut self,
        on: CpuId,
        allowed: impl Fn(&Self, usize) -> u64 + Copy,
        node: Option<NodeId>,
        flags: u64,
    ) -> Option<CpuId> {
        debug_assert!(node.is_none() || self.per_node, "nodes only where masks are per node");
        let allowed = (self.shape.all_words(), allowed);
        let found = self.pick_in_node(on, allowed, node, flags);
        let Some(start) = node.filter(|_| found.is_none() && flags & IN_NODE == 0) else { return found };
        (0..self.shape.others(start).len()).find_map(|i| {
            let next = self.shape.others(start)[i];
            self.pick_in_node(on, allowed, Some(next), flags)
        })
    }

    /// Claims an idle CPU of one node, or of the machine (`pick_idle_cpu_in_node()`). `span` has a bit for each word
    /// that may hold an allowed CPU.
    #[inline]
    pub(super) fn pick_in_node(
        &mut self,
        on: CpuId,
        (span, allowed): (u64, impl Fn(&Self, usize) -> u64 + Copy),
        node: Option<NodeId>,
        flags: u64,
    ) -> Option<CpuId> {
        let span = span & node.map_or(u64::MAX, |n| self.shape.node_span(n));
        let within = |m: &Self, word| node.map_or(u64::MAX, |n| m.shape.node(n)[word]);
        loop {
            let (mut cpu, after) = (None, self.spread[on.index()]);
            if self.shape.smt {
                let span = span & self.cores.filled();
                let whole = |m: &Self, word: usize| m.cores[word] & within(m, word) & allowed(m, word);
                cpu = self.next_around(on, span, whole);
                self.note_search(IdleMask::Cores, node, after, cpu);
                if cpu.is_none() && flags & CORE != 0 {
                    return None;
                }
            }
            if cpu.is_none() {
                let span = span & self.cpus.filled();
                let idle = |m: &Self, word: usize| m.cpus[word] & within(m, word) & allowed(m, word);
                cpu = self.next_around(on, span, idle);
                self.note_search(IdleMask::Cpus, node, after, cpu);
            }
            let cpu = cpu?;
            if self.test_and_clear(cpu) {
                return Some(cpu);
            }
        }
    }

    /// The first CPU of a set after the one that `on` found last, wrapping around. `span` has a bit for each word
    /// of the set that may not be 0.
    #[inline]
    fn next_around(&mut self, on: CpuId, span: u64, set: impl Fn(&Self, usize) -> u64) -> Option<CpuId> {
        let start = self.spread[on.index()] + 1;
        let found = if self.shape.words() == 1 {
            let all = set(self, 0);
            let ahead = all & u64::MAX.checked_shl(start).unwrap_or(0);
            lowest(0, if ahead != 0 { ahead } else { all })
        } else {
            self.next_around_words(start, span, set)
        };
        if let Some(cpu) = found {
            self.spread[on.index()] = cpu.0;
        }
        found
    }

    fn next_around_words(&self, start: u32, span: u64, set: impl Fn(&Self, usize) -> u64) -> Option<CpuId> {
        let (first, ahead) = match start as usize / 64 {
            word if word < self.shape.words() => (word, u64::MAX << (start % 64)),
            _ => (0, u64::MAX),
        };
        let from_first = u64::MAX << first;
        let (behind, before) = (span & from_first << 1, span & !from_first);
        let in_first = if span & 1 << first != 0 { set(self, first) } else { 0 };
        lowest(first, in_first & ahead)
            .or_else(|| words_of(behind).find_map(|word| lowest(word, set(self, word))))
            .or_else(|| words_of(before).find_map(|word| lowest(word, set(self, word))))
            .or_else(|| lowest(first, in_first & !ahead))
    }
}

/// The words whose bit is set in `span`, ascending.
fn words_of(mut span: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let word = span.trailing_zeros() as usize;
        span &= span.wrapping_sub(1);
        (word < 64).then_some(word)
    })
}

#[inline]
fn lowest(word: usize, bits: u64) -> Option<CpuId> {
    (bits != 0).then(|| CpuId(word as u32 * 64 + bits.trailing_zeros()))
}
