//! Long delays: a task is woken or created, and starts running late.
//!
//! People notice a delay of about [`DELAY`], a tenth of a second. A fair round among more tasks than CPUs takes longer,
//! so each task that shares a CPU adds a default slice, as with [`super::starvation`], which reports even longer waits.
//! A limit given by the user applies unchanged.

use super::scene::{Scene, Spot, Woken};
use super::stall;
use super::starvation::fair_round;
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use crate::origin::Act;
use crate::place::QueueKind;
use keel_abi::{CpuId, Instant, Span, TaskId};

/// The default limit, before what sharing adds.
pub const DELAY: Span = Span::from_ms(100);

#[derive(Clone, Debug)]
pub(super) struct LongDelays {
    pub(super) found: Found,
    pub(super) limit: Option<Span>,
}

impl LongDelays {
    /// Reports the wait of the task in `slot` if it began with a wakeup and was too long. It ends on `cpu`, or has not
    /// ended.
    pub(super) fn judge(&mut self, scene: &mut Scene, at: Instant, slot: u32, cpu: Option<CpuId>) {
        let task = scene.tasks.at(slot);
        let (start, waited) = (task.since, at.since(task.since));
        let (Some(woken), (part, spot)) = (task.woken, task.longest_spot(at)) else { return };
        let limit = self.limit.unwrap_or_else(|| DELAY + fair_round(scene, slot));
        let stalled = stall::within(scene.cpus.get(spot.rq), start, at);
        if waited > limit && waited.saturating_sub(stalled) > limit {
            let wait = Wait { slot, start, at, cpu, woken, part, spot };
            self.found.add(start, waited, || wait.finding_of(scene, limit));
        }
    }
}

/// A wait that was too long.
struct Wait {
    slot: u32,
    start: Instant,
    at: Instant,
    /// The CPU where it ended, if it did.
    cpu: Option<CpuId>,
    woken: Woken,
    /// Where the task was for longest, and for how long.
    part: Span,
    spot: Spot,
}

impl Wait {
    fn finding_of(&self, scene: &mut Scene, threshold: Span) -> Finding {
        let task = scene.tasks.at(self.slot);
        let (who, id) = (task.called(), task.id);
        let duration = self.at.since(self.start);
        let ran = match self.cpu {
            Some(cpu) => format!("ran {duration} later, on CPU {cpu}"),
            None => format!("did not run in the {duration} until the end"),
        };
        let (begin, waker) = (self.begin(scene), self.waker());
        let mut cpus = vec![self.spot.rq];
        cpus.extend(self.cpu.filter(|&cpu| cpu != self.spot.rq));
        let mut tasks = vec![id];
        let others = [self.spot.beside, waker].into_iter().filter(|task| !task.is_idle());
        others.for_each(|other| {
            if !tasks.contains(&other) {
                tasks.push(other);
            }
        });
        Finding {
            kind: Kind::LongDelay,
            blame: Blame::Scheduler,
            start: self.start,
            duration,
            threshold,
            cpus,
            tasks,
            events: vec![self.start, self.at],
            decision: self.spot.here.decision(id),
            text: format!("task {who} {begin} and {ran}; {}", self.place(scene)),
        }
    }

    fn waker(&self) -> TaskId {
        self.woken.by.map_or(TaskId::IDLE, |(_, waker)| waker)
    }

    /// `was woken by make (pid 7) for CPU 2`.
    fn begin(&self, scene: &mut Scene) -> String {
        let to = self.woken.to;
        let Some((act, waker)) = self.woken.by else {
            return format!("was waiting on CPU {to} when the recording started");
        };
        let by = match waker.is_idle() {
            true => String::new(),
            false => format!(" by {}", scene.called(waker)),
        };
        let was = if act == Act::Forked { "forked" } else { "woken" };
        format!("was {was}{by} for CPU {to}")
    }

    /// Where it waited for longest, and which task was running there when it came.
    fn place(&self, scene: &mut Scene) -> String {
        let Spot { here, rq, beside } = self.spot;
        let ran = match beside.is_idle() {
            true => format!("CPU {rq} was idle then"),
            false => format!("CPU {rq} was running {} then", scene.called(beside)),
        };
        match here.queue.kind() {
            QueueKind::Cpu(_) if rq == self.woken.to => ran,
            QueueKind::Cpu(_) => {
                let place = here.words(None);
                format!("it waited longest, for {}, {place}; {ran}", self.part)
            }
            _ => format!("it waited {}; {ran}", here.queue.words()),
        }
    }
}
