//! Refuses a task that would go around for ever without time passing: no run could hold it.

use keel_abi::Span;
use keel_abi::task::{Step, TaskSpec};

/// Passes without time that are still allowed; each is work for the simulator only.
const MOST_IDLE_PASSES: u64 = 1_000_000;

/// Whether a loop of `task` makes too many passes in which no time needs to pass. `barriers` contains for each barrier
/// how many tasks it waits for.
pub(crate) fn spins(task: &TaskSpec, barriers: &[u32]) -> bool {
    // For each step where a loop may begin: the last step at or before that takes time, and the
    // idle passes of inner loops since.
    let mut last_timed = None;
    let mut inner: Vec<(usize, u64)> = Vec::new();
    for (i, step) in task.steps.iter().enumerate() {
        if takes_time(step, barriers) {
            last_timed = Some(i);
        }
        let Step::Loop { to, times, .. } = step else { continue };
        let to = *to as usize;
        if last_timed.is_some_and(|timed| timed >= to) {
            continue;
        }
        let mut passes = 1;
        while let Some((_, idle)) = inner.pop_if(|(begin, _)| *begin >= to) {
            passes += idle;
        }
        let idle = times.map_or(u64::MAX, |times| passes.saturating_mul(u64::from(times)));
        if idle > MOST_IDLE_PASSES {
            return true;
        }
        inner.push((to, idle));
    }
    false
}

fn takes_time(step: &Step, barriers: &[u32]) -> bool {
    match step {
        Step::Run(amount) | Step::Sleep(amount) => amount.base > Span::ZERO,
        Step::RunFor(span) => *span > Span::ZERO,
        Step::Timer { period, .. } => *period > Span::ZERO,
        Step::Barrier(id) | Step::SpinBarrier { barrier: id, .. } => barriers[id.0 as usize] > 1,
        // A call into the scheduler, or sleep until another task acts.
        Step::Yield | Step::Await(_) | Step::Wait { .. } | Step::Sync { .. } => true,
        Step::Send { .. }
        | Step::Receive { .. }
        | Step::WaitChild
        | Step::Setsid
        | Step::AutogroupNice(_)
        | Step::Exec
        | Step::Spawn(_)
        | Step::Syscall
        | Step::Cgroup(_) => true,
        _ => false,
    }
}
