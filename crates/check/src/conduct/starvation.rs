//! Starvation: a task is runnable but does not run for too long.
//!
//! How long is too long? [`BOUND`], one second, is far longer than a person expects of a working machine, and far
//! shorter than the timeout of the kernel's watchdog (30 s), which ends the scheduler. But on a machine with more work
//! than CPUs, even a perfectly fair round takes one slice for each task that shares a CPU. So each of these tasks adds
//! a default slice (20 ms) to the bound: with 150 runnable tasks per CPU, a task may wait 4 s. The tasks are counted
//! over the CPUs that the starved task may use, when the wait begins and when it ends; the larger number counts.
//!
//! If weights or nice values are known, a light task's fair round is longer: for each of its slices, a heavier task has
//! as many as the ratio of their weights. To a scheduler, a nice 19 task has a hundredth of the weight of a nice 0
//! task: it waits for a hundred slices, and nothing is wrong.
//!
//! Time in which its CPU stalled ([`super::stall`]) does not count; the stall is reported instead.

use super::scene::{Scene, Spot};
use super::stall;
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use crate::place::QueueKind;
use keel_abi::scx::SLICE_DFL_NS;
use keel_abi::{Instant, Span};

/// The default bound on a wait, before what sharing adds.
pub const BOUND: Span = Span::from_s(1);

/// The length of a fair round for the waiting task in `slot`: a slice for each task that shares a CPU with it or, if
/// weights are known, for each multiple of its own weight on that CPU.
pub(super) fn fair_round(scene: &mut Scene, slot: u32) -> Span {
    let task = scene.tasks.at(slot);
    let (crowd, may_use, weight, load) = (task.crowd, task.may_use, task.heft, task.load);
    let by_number = u64::from(crowd.max(scene.waiting)) / scene.share_of(may_use);
    // It waits for the others' slices, not for its own.
    let by_weight = match weight {
        0 => 0,
        weight => (mean(load).max(mean(scene.load(slot))) / u64::from(weight)).saturating_sub(1),
    };
    Span::from_ns(SLICE_DFL_NS) * by_number.max(by_weight)
}

/// The mean weight on a CPU.
fn mean((weight, cpus): (u64, u32)) -> u64 {
    weight / u64::from(cpus)
}

#[derive(Clone, Debug)]
pub(super) struct Starvation {
    pub(super) found: Found,
}

impl Starvation {
    /// Returns whether the wait of the task in `slot` was too long. It ends now, or the stream does.
    pub(super) fn judge(&mut self, scene: &mut Scene, at: Instant, slot: u32, still: bool) -> bool {
        let task = scene.tasks.at(slot);
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
    let task = scene.tasks.at(slot);
    let (who, start, id) = (task.called(), task.since, task.id);
    let duration = at.since(start);
    let (was, end) = if still { ("has been", ", and still waits at the end") } else { ("was", "") };
    let place = match spot.here.queue.kind() {
        QueueKind::Cpu(_) => format!("on CPU {}", spot.rq),
        _ => spot.here.queue.words(),
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
        decision: spot.here.decision(id),
        text,
    }
}
