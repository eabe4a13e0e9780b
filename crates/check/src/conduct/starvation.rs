//! Starvation: a task is runnable and does not run for too long.
//!
//! How long is too long? [`BOUND`], one second, is far beyond what a person takes for a running
//! machine and far below the kernel's watchdog (30 s), which ends the scheduler. But on a machine with more
//! work than CPUs even a perfectly fair round takes one slice for each task that shares a CPU; so each such task
//! adds a default slice (20 ms) to the bound: 150 runnable tasks a CPU may wait 4 s. The tasks are counted when the wait
//! begins and when it ends, over the CPUs that the starved task may use, whichever is more.
//!
//! If weights or nice values are known, a fair round of a light task is longer: while it has one slice, each heavier one has as many as it weighs more.
//! To a scheduler a task of
//! nice 19 weighs a hundredth of one of nice 0: it waits for a hundred slices, and nobody has done wrong.
//!
//! Time in which its CPU stalled ([`super::stall`]) counts as the stall's, and is reported there.

use super::scene::{Scene, Spot};
use super::stall;
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use crate::place::Queue;
use keel_abi::scx::SLICE_DFL_NS;
use keel_abi::{Instant, Span};

/// The default bound on a wait, before what sharing adds.
pub const BOUND: Span = Span::from_s(1);

/// What a fair round takes for the task in `slot` that waits: a slice for each task that shares a CPU with it, or for each time its own weight that
/// weighs on that CPU beside it.
pub(super) fn fair_round(scene: &mut Scene, slot: u32) -> Span {
    let Some(task) = scene.tasks.at(slot) else { return Span::ZERO };
    let (crowd, may_use, weight, load) = (task.crowd, task.may_use, task.heft(), task.load);
    let by_number = u64::from(crowd.max(scene.waiting)) / scene.share_of(may_use);
    // It waits for the others' slices, not for its own.
    let by_weight = match weight {
        0 => 0,
        weight => (load.max(scene.load(slot)) / u64::from(weight)).saturating_sub(1),
    };
    Span::from_ns(SLICE_DFL_NS) * by_number.max(by_weight)
}

#[derive(Clone, Debug)]
pub(super) struct Starvation {
    pub(super) found: Found,
}

impl Starvation {
    /// The wait of the task in `slot` ends, or is looked at because the stream ends: was it too long?
    pub(super) fn judge(&mut self, scene: &mut Scene, at: Instant, slot: u32, still: bool) -> bool {
        let Some(task) = scene.tasks.at(slot) else { return false };
        let waited = at.since(task.since);
        if waited <= BOUND {
            return false;
        }
        let (since, spot) = (task.since, task.longest_spot(at).1);
        let bound = BOUND + fair_round(scene, slot);
        if waited <= bound {
            return false;
        }
        if waited.saturating_sub(stall::within(scene.cpus.get(spot.rq), since, at)) <= bound {
            return true;
        }
        self.found.add(since, waited, || finding_of(scene, at, slot, &spot, bound, still));
        true
    }
}

fn finding_of(
    scene: &mut Scene,
    at: Instant,
    slot: u32,
    spot: &Spot,
    threshold: Span,
    still: bool,
) -> Finding {
    let (who, start, id) = scene
        .tasks
        .at(slot)
        .map(|task| (task.called(), task.since, task.id))
        .expect("it was looked at just now");
    let duration = at.since(start);
    let (was, end) = if still { ("has been", ", and still waits at the end") } else { ("was", "") };
    let place = match spot.here.queue {
        Queue::Cpu(_) => format!("on CPU {}", spot.rq),
        queue => queue.words(),
    };
    let text = format!("task {who} {was} runnable for {duration} without running, {place}{end}");
    Finding {
        kind: Kind::Starvation,
        blame: Blame::Scheduler,
        start,
        duration,
        threshold,
        cpus: vec![spot.rq],
        tasks: vec![id],
        events: vec![start, at],
        decision: spot.here.decision,
        text,
    }
}
