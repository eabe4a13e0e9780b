//! Call chains, each with the costs of its innermost line.

use crate::lines::{Key, key};
use crate::model::{Place, Profile};
use std::collections::BTreeMap;

/// The cost of a call chain, without its callees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) instructions: u64,
    pub(crate) ps: u64,
    pub(crate) calls_ps: u64,
    pub(crate) lines_ps: u64,
    /// `ps` in whole nanoseconds, so that the sum over all chains equals that of `ps`.
    pub(crate) ns: u64,
}

/// A call chain: the caller of the first function, and a line of each function, the outermost first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stack {
    pub(crate) origin: String,
    pub(crate) lines: Vec<Key>,
}

/// Returns all chains of callbacks. One without lines stands for entering the callback.
pub(crate) fn stacks(profile: &Profile) -> BTreeMap<Stack, Cost> {
    let mut stacks = BTreeMap::<Stack, Cost>::new();
    for node in profile.in_callbacks() {
        let mut callers = Vec::new();
        let mut up = node.caller;
        while let Some((caller, insn)) = up {
            let caller = &profile.nodes[caller as usize];
            callers.push(key(&profile.functions, Place { function: caller.function, insn }));
            up = caller.caller;
        }
        callers.reverse();
        if node.entry_ps > 0 {
            let stack = Stack { origin: node.origin.clone(), lines: callers.clone() };
            stacks.entry(stack).or_default().ps += node.entry_ps;
        }
        for count in &node.counts {
            let own = key(&profile.functions, Place { function: node.function, insn: count.insn });
            let lines = callers.iter().cloned().chain([own]).collect();
            let cost = stacks.entry(Stack { origin: node.origin.clone(), lines }).or_default();
            cost.instructions += count.executed;
            cost.ps += count.ps(profile.insn_ps);
            cost.calls_ps += count.calls_ps;
            cost.lines_ps += count.lines_ps;
        }
    }
    let mut sum_ps = 0;
    for cost in stacks.values_mut() {
        let before_ns = sum_ps / 1000;
        sum_ps += cost.ps;
        cost.ns = sum_ps / 1000 - before_ns;
    }
    stacks
}
