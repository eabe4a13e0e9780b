//! `r[:SECONDS]`: R on one thread: it computes, and rarely accesses the disk. Without SECONDS it continues forever;
//! otherwise it ends after this many seconds of work.
//!
//! An iteration is 10 ms, as in hogs. Once in 100 iterations it reads or writes something, which takes about 2 ms as in
//! a build. This is an estimate. What the two instances in the paper computed is unknown.

use super::{again, run_us, task, within};
use keel_abi::Span;
use keel_abi::task::{Amount, Step, Workload};

const PASSES: u32 = 100;
const PASS_US: u64 = 10_000;
const DISK: Amount = Amount { base: Span::from_ms(2), spread: Span::from_ms(1) };

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let seconds = match *numbers {
        [] => None,
        [seconds] => Some(within(seconds, 1, 1_000_000)?),
        _ => return None,
    };
    let mut steps = vec![run_us(PASS_US), Step::Count, again(0, Some(PASSES), 0)];
    steps.extend([Step::Sleep(DISK), again(0, seconds, 1)]);
    Some(Workload { tasks: vec![task("R", 1, steps)], unit: "loops".to_owned(), ..Workload::default() })
}
