//! `yields:TASKS`: the loop_yield of Molnar's post of 4 January 2002: processes that call `sched_yield()` endlessly.
//!
//! Between two calls, a loop and the C library's wrapper run. Together with entering the trap, they are estimated at
//! 100 ns, about 100 cycles of the machines of 2002.

use super::{again, task, within};
use keel_abi::Span;
use keel_abi::task::{Amount, Step, TaskSpec, Workload};

/// How long the loop and the wrapper take, in nanoseconds.
const USER_NS: u64 = 100;

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let &[tasks] = numbers else { return None };
    let tasks = within(tasks, 1, 100_000)?;
    let user = Step::Run(Amount::fixed(Span::from_ns(USER_NS)));
    let steps = vec![user, Step::Yield, Step::Count, again(0, None, 0)];
    let process = |process| TaskSpec { process, ..task("loop_yield", 1, steps.clone()) };
    Some(Workload {
        tasks: (0..tasks).map(process).collect(),
        unit: "yields".to_owned(),
        ..Workload::default()
    })
}
