//! Rejects a task that would loop forever without time passing, because no run could contain it.

use keel_abi::Span;
use keel_abi::task::{Step, TaskSpec};

/// The maximum number of iterations that take no time. Each is work only for the simulator.
const MOST_IDLE_PASSES: u64 = 1_000_000;

/// Returns whether a loop of `task` has too many iterations in which no time needs to pass. `barriers` contains the
/// number of tasks that each barrier waits for.
pub(crate) fn spins(task: &TaskSpec, barriers: &[u32]) -> bool {
    // For each step where a loop may begin: the last step at or before it that takes time, and the
    // idle iterations of inner loops since.
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
        // These call the scheduler, or sleep until another task acts.
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
