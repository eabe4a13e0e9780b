//! Starvation: a task is runnable and does not run for too long.
//!
//! How long is too long? [`BOUND`], one second, is far beyond what a person takes for a running
//! machine and far below the kernel's watchdog (30 s), which ends the scheduler. But on a machine with more
//! work than CPUs even a perfectly fair round takes one slice for each task that shares a CPU; so each such task
//! adds a default slice (20 ms) to the bound: 150 runnable tasks a CPU may wait 4 s. The tasks are counted when the wait
//! begins and when it ends, over the CPUs that the starved task may use, whichever is more.
//!
//! Time in which its CPU stalled ([`super::stall`]) is the stall's, and told there.

use super::scene::Scene;
use super::stall;
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use keel_abi::scx::SLICE_DFL_NS;
use keel_abi::{CpuId, Instant, Span};

/// The default bound on a wait, before what sharing adds.
pub const BOUND: Span = Span::from_s(1);

/// What a fair round takes for the task in `slot` that waits: a slice for each task that shares a CPU with it.
pub(super) fn fair_round(scene: &mut Scene, slot: u32) -> Span {
    let Some((crowd, may_use)) = scene.tasks.at(slot).map(|task| (task.crowd, task.may_use)) else {
        return Span::ZERO;
    };
    Span::from_ns(SLICE_DFL_NS) * (crowd.max(scene.waiting) / scene.share_of(may_use))
}

#[derive(Clone, Debug)]
pub(super) struct Starvation {
    pub(super) found: Found,
}

impl Starvation {
    /// The wait of the task in `slot` ends, or is looked at because the stream ends: was it too long?
    pub(super) fn judge(&mut self, scene: &mut Scene, at: Instant, slot: u32, still: bool) -> bool {
        let Some(task) = scene.tasks.at(slot) else { return false };
        let (since, rq) = (task.since, task.rq);
        let waited = at.since(since);
        if waited <= BOUND {
            return false;
        }
        let bound = BOUND + fair_round(scene, slot);
        if waited <= bound {
            return false;
        }
        if waited.saturating_sub(stall::within(scene.cpus.get(rq), since, at)) <= bound {
            return true;
        }
        self.found.add(since, waited, || tell(scene, at, slot, rq, bound, still));
        true
    }
}

fn tell(scene: &mut Scene, at: Instant, slot: u32, rq: CpuId, threshold: Span, still: bool) -> Finding {
    let (who, start, id, decision) = scene
        .tasks
        .at(slot)
        .map(|task| (task.called(), task.since, task.id, task.decision))
        .expect("it was looked at just now");
    let duration = at.since(start);
    let (was, end) = if still { ("has been", ", and still waits at the end") } else { ("was", "") };
    let text = format!("task {who} {was} runnable for {duration} without running, on CPU {rq}{end}");
    Finding {
        kind: Kind::Starvation,
        blame: Blame::Scheduler,
        start,
        duration,
        threshold,
        cpus: vec![rq],
        tasks: vec![id],
        events: vec![start, at],
        decision,
        text,
    }
}
