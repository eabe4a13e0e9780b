//! In how deep a frame functions may run: those that certainly don't run in the deepest one need not ask whether a frame
//! is left for the functions that they call.

use super::op::{Callee, MAX_FRAMES, Op};
use super::{Func, function_number};

/// What is known of each function.
pub(super) struct Depths {
    /// Whether code has its address, so that a helper may call it from any frame.
    pub(super) is_passed: Vec<bool>,
    /// Whether it may run in the deepest frame.
    pub(super) is_deepest: Vec<bool>,
}

impl Depths {
    pub(super) fn of(functions: &[Func]) -> Self {
        const DEEPEST: u64 = MAX_FRAMES - 1;
        let mut is_passed = vec![false; functions.len()];
        let mut calls = Vec::new();
        for (number, function) in functions.iter().enumerate() {
            for &op in &function.ops {
                match op {
                    Op::Call { callee: Callee::Function(callee), .. } => {
                        calls.push((number, callee as usize))
                    }
                    Op::Const { value, .. } => {
                        let passed = function_number(value).and_then(|at| is_passed.get_mut(at as usize));
                        passed.into_iter().for_each(|passed| *passed = true);
                    }
                    _ => {}
                }
            }
        }
        let mut depths: Vec<u64> = is_passed.iter().map(|&passed| if passed { DEEPEST } else { 0 }).collect();
        // Each round reaches one frame more.
        for _ in 0..DEEPEST {
            for &(caller, callee) in &calls {
                depths[callee] = depths[callee].max(DEEPEST.min(depths[caller] + 1));
            }
        }
        Self { is_passed, is_deepest: depths.into_iter().map(|depth| depth == DEEPEST).collect() }
    }
}
