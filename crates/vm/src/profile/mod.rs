//! What a run costs, instruction by instruction.
//!
//! Only the interpreter keeps a profile, in a separate copy of itself, so that nothing else pays for it. Each count
//! belongs to an instruction within a call chain ([`Node`]), so one profile serves both as a list of lines and as a
//! tree. Costs are those that the kernel charges; the charge for a call belongs to the call instruction.

mod taken;
mod tally;

use keel_abi::bpf::Origin;
use std::collections::BTreeMap;
pub use taken::{Conflict, Kind, Place, ProfiledFunction, Taken};
use tally::Journal;
pub(crate) use tally::Tally;

/// The maximum number of call chains that are distinguished. A function called by a further chain counts as if the
/// kernel had called it.
const MOST_CHAINS: usize = 1 << 14;

/// What one instruction has cost within one chain of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often it was executed.
    pub executed: u64,
    /// How often a conditional jump jumped.
    pub taken: u64,
    /// How long it waited for cache lines that it accessed itself, in picoseconds.
    pub lines_ps: u64,
    /// What its calls of the kernel were charged with, in picoseconds.
    pub calls_ps: u64,
}

/// A function within a chain of calls.
#[derive(Clone, Debug)]
pub struct Node {
    /// What called the outermost function of the chain.
    pub origin: Origin,
    /// The caller and its instruction; nothing for the outermost function.
    pub caller: Option<(u32, u32)>,
    /// The function, by its place in the object.
    pub function: u32,
    /// How often it was called.
    pub calls: u64,
    /// What calling it was charged with before its first instruction, in picoseconds.
    pub entry_ps: u64,
    /// By instruction.
    pub counts: Box<[Count]>,
}

/// What makes a node: its origin, its caller and the caller's instruction, its function.
type Chain = (Origin, Option<(u32, u32)>, u32);

/// The profile of one object's code.
pub(crate) struct Profile {
    /// Per function, how many instructions the functions before it have.
    firsts: Vec<u32>,
    sizes: Vec<u32>,
    nodes: Vec<Node>,
    found: BTreeMap<Chain, u32>,
}

impl Profile {
    /// An empty one, for functions with this many instructions each.
    pub(crate) fn new(sizes: impl Iterator<Item = u32>) -> Self {
        let (firsts, sizes_so_far, nodes, found) = Default::default();
        let mut profile = Self { firsts, sizes: sizes_so_far, nodes, found };
        profile.extend(sizes);
        profile
    }

    /// There are more functions, behind those so far.
    pub(crate) fn extend(&mut self, sizes: impl Iterator<Item = u32>) {
        for size in sizes {
            let next = self.firsts.last().zip(self.sizes.last()).map_or(0, |(first, size)| first + size);
            self.firsts.push(next);
            self.sizes.push(size);
        }
    }

    /// The instruction's number among all of the object.
    #[inline]
    fn number(&self, node: u32, insn: u32) -> u32 {
        self.firsts[self.nodes[node as usize].function as usize] + insn
    }

    /// A callback is over, which has done this.
    fn add_journal(&mut self, journal: &Journal) {
        for &(node, entry_ps) in &journal.entered {
            let node = &mut self.nodes[node as usize];
            node.calls += 1;
            node.entry_ps += entry_ps;
        }
        for run in &journal.runs {
            let counts = &mut self.nodes[run.node as usize].counts[run.from as usize..=run.to as usize];
            counts.iter_mut().for_each(|count| count.executed += 1);
            if let Some(last) = counts.last_mut().filter(|_| run.jumps) {
                last.taken += 1;
            }
        }
        for cost in &journal.costs {
            let count = &mut self.nodes[cost.node as usize].counts[cost.insn as usize];
            count.lines_ps += cost.lines_ps;
            // A wait that ends early is charged less than it was to be, later.
            count.calls_ps = count.calls_ps.wrapping_add(cost.calls_ps);
        }
    }

    /// The function's node in this chain of calls.
    fn enter(&mut self, origin: Origin, caller: Option<(u32, u32)>, function: u32) -> u32 {
        let is_full = self.nodes.len() >= MOST_CHAINS;
        let known = self.found.get(&(origin, caller, function)).copied();
        match known {
            Some(node) => node,
            None if is_full && caller.is_some() => self.enter(origin, None, function),
            None => self.add(origin, caller, function),
        }
    }

    fn add(&mut self, origin: Origin, caller: Option<(u32, u32)>, function: u32) -> u32 {
        let counts = vec![Count::default(); self.sizes[function as usize] as usize].into();
        self.nodes.push(Node { origin, caller, function, calls: 0, entry_ps: 0, counts });
        let node = self.nodes.len() as u32 - 1;
        self.found.insert((origin, caller, function), node);
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_calls_are_told_apart_until_there_are_too_many() {
        let mut profile = Profile::new([2, 3].into_iter());
        let root = profile.enter(Origin::Timer, None, 0);
        assert_eq!(profile.enter(Origin::Timer, None, 0), root);
        let inner = profile.enter(Origin::Timer, Some((root, 1)), 1);
        assert_ne!(profile.enter(Origin::Timer, Some((root, 0)), 1), inner);
        assert_eq!(profile.number(inner, 2), 4);
        let mut node = inner;
        for _ in 0..2 * MOST_CHAINS {
            node = profile.enter(Origin::Timer, Some((node, 0)), 1);
        }
        assert_eq!(node, root_of_1(&profile));
        assert!(profile.nodes.len() <= MOST_CHAINS + 1, "{}", profile.nodes.len());
    }

    /// Where calls beyond the limit are counted.
    fn root_of_1(profile: &Profile) -> u32 {
        profile.found[&(Origin::Timer, None, 1)]
    }
}
