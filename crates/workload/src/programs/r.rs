//! `r[:SECONDS]`: R at work on one thread: it computes, and touches the disk but rarely. Without SECONDS it goes on for ever, else it
//! ends after so many seconds of work.
//!
//! A pass is 10 ms, as with hogs. Once in 100 passes it reads or writes something, which takes some 2 ms as in a build: an
//! estimate. What its two instances computed in the paper is unknown.

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
