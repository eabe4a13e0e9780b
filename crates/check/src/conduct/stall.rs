//! Stalls: a CPU runs one task for a long time while others wait in its queue.
//!
//! No known scheduler has slices longer than [`HOLD`]: the kernel's default for sched_ext is 20 ms, its fair class
//! stays below that, and the longest slices of Linux 2.4 and of the O(1) scheduler are below half a second. A CPU that
//! does not switch for longer while a task waits there has lost its tick, runs a task whose slice nobody ends, or is
//! delayed below the kernel. A stall is reported once per CPU, however many tasks wait there; their waits during it
//! don't count as starvation. A real-time task may run as long as it likes.
//!
//! [`crate::waste`] deals with idle CPUs.

use super::scene::{Cpu, Scene, State};
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use keel_abi::{CpuId, Instant, Span};

/// How long one task may have a CPU while others wait in its queue.
pub const HOLD: Span = Span::from_ms(500);

#[derive(Clone, Debug)]
pub(super) struct Stalls {
    pub(super) found: Found,
}

impl Stalls {
    /// `cpu` is about to switch, or its last waiting task leaves.
    #[inline]
    pub(super) fn look(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId) {
        if scene.cpus.get(cpu).is_held(at) {
            self.found(scene, at, cpu);
        }
    }

    #[cold]
    pub(super) fn found(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId) {
        let row = scene.cpus.get(cpu);
        let (start, since, queued, first) =
            (row.since.max(row.queued_since), row.since, row.queued, row.first);
        let (holder, holder_slot) = (row.runs, row.slot);
        let row = scene.tasks.at(holder_slot);
        if row.id.is_idle() || row.is_urgent() {
            return;
        }
        let row = scene.cpus.get(cpu);
        (row.stalled, row.queued_since) = ((start, at), at);
        let duration = at.since(start);
        self.found.add(start, duration, || {
            let first = scene.tasks.at(first);
            let (victim, decision) = match first.state == State::Waiting && first.rq == cpu {
                true => (Some((first.id, first.called())), first.decision()),
                false => (None, None),
            };
            let who = scene.called(holder);
            let others = match (&victim, queued) {
                (Some((_, name)), 1) => format!("task {name} waited"),
                (Some((_, name)), n) => format!("{n} tasks waited, the first {name},"),
                (None, 1) => "a task waited".to_owned(),
                (None, n) => format!("{n} tasks waited"),
            };
            Finding {
                kind: Kind::Stall,
                blame: Blame::Scheduler,
                start,
                duration,
                threshold: HOLD,
                cpus: vec![cpu],
                tasks: victim.map(|(id, _)| id).into_iter().chain([holder]).collect(),
                events: vec![since, start, at],
                decision,
                text: format!(
                    "CPU {cpu} ran task {who} without a break for {duration} while {others} in its queue"
                ),
            }
        });
    }
}

/// How much of `start..end` the CPU's last stall covers.
pub(super) fn within(cpu: &Cpu, start: Instant, end: Instant) -> Span {
    let (from, until) = cpu.stalled;
    until.min(end).since(from.max(start))
}
