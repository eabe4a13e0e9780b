//! Long delays: a task is woken or made, and comes to run late.
//!
//! [`DELAY`], a tenth of a second, is about when people notice that a machine hesitates. A fair round among more tasks than CPUs takes
//! longer; so each task that shares a CPU adds a default slice, as with [`super::starvation`], which tells what is longer still. A
//! limit that was asked for is taken as it is.

use super::scene::Scene;
use super::stall;
use super::starvation::fair_round;
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use keel_abi::{CpuId, Instant, Span, TaskId};

/// The default limit, before what sharing adds.
pub const DELAY: Span = Span::from_ms(100);

#[derive(Clone, Debug)]
pub(super) struct LongDelays {
    pub(super) found: Found,
    pub(super) limit: Option<Span>,
}

impl LongDelays {
    /// The wait of the task in `slot` ends on `cpu`, or has not ended: was it a wakeup's, and too long?
    pub(super) fn judge(&mut self, scene: &mut Scene, at: Instant, slot: u32, cpu: Option<CpuId>) {
        let Some(task) = scene.tasks.at(slot).filter(|task| task.woken) else { return };
        let (start, rq) = (task.since, task.rq);
        let waited = at.since(start);
        let limit = self.limit.unwrap_or_else(|| DELAY + fair_round(scene, slot));
        let stalled = stall::within(scene.cpus.get(rq), start, at);
        if waited > limit && waited.saturating_sub(stalled) > limit {
            self.found.add(start, waited, || tell(scene, at, slot, cpu, limit));
        }
    }
}

fn tell(scene: &mut Scene, at: Instant, slot: u32, cpu: Option<CpuId>, threshold: Span) -> Finding {
    let task = scene.tasks.at(slot).expect("it was looked at just now");
    let (who, id, start, rq, beside) = (task.called(), task.id, task.since, task.rq, task.beside);
    let decision = task.decision;
    let (put, waker) = decision.map_or((rq, TaskId::IDLE), |decision| (decision.to, decision.waker));
    let duration = at.since(start);
    let by = match waker.is_idle() {
        true => String::new(),
        false => format!(" by {}", scene.called(waker)),
    };
    let ran = match cpu {
        Some(cpu) => format!("came to run {duration} later, on CPU {cpu}"),
        None => format!("has not run for the {duration} until the end"),
    };
    let beside_words = match beside.is_idle() {
        true => format!("CPU {put} idled then"),
        false => format!("CPU {put} ran {} then", scene.called(beside)),
    };
    let mut cpus = vec![put];
    cpus.extend(cpu.filter(|&cpu| cpu != put));
    let mut tasks = vec![id];
    let others = [beside, waker].into_iter().filter(|task| !task.is_idle());
    others.for_each(|other| {
        if !tasks.contains(&other) {
            tasks.push(other);
        }
    });
    Finding {
        kind: Kind::LongDelay,
        blame: Blame::Scheduler,
        start,
        duration,
        threshold,
        cpus,
        tasks,
        events: vec![start, at],
        decision,
        text: format!("task {who} was woken{by} for CPU {put} and {ran}; {beside_words}"),
    }
}
