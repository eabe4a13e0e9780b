//! `crowd:TASKS`: tasks that are always runnable, and 16 that wake a thousand times per second. This is not a published
//! program: it was written to show what a scheduler's decisions cost while many tasks wait.

use super::{again, run_us, task, within};
use keel_abi::Span;
use keel_abi::task::{Amount, Step, Workload};

const WAKERS: u32 = 16;

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let &[hogs] = numbers else { return None };
    let hogs = within(hogs, 1, 1_000_000)?;
    let sleep = Step::Sleep(Amount { base: Span::from_us(1000), spread: Span::from_us(500) });
    Some(Workload {
        // The wakers start first, so that they are placed before the crowd starts.
        tasks: vec![
            task("waker", WAKERS, vec![run_us(50), sleep, Step::Count, again(0, None, 0)]),
            task("hog", hogs, vec![run_us(10_000_000), again(0, None, 0)]),
        ],
        unit: "wakeups".to_owned(),
        ..Workload::default()
    })
}
