//! What the check knows of one task.

use super::episode::Seen;
use super::groups::{How, NO_NAME, Note, noted};
use crate::matching;
use crate::origin::Decision;
use crate::place::{By, Place, Places, Queue};
use keel_abi::{CpuId, Instant, Pid, Span, TaskId};
use keel_trace::Chooser;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Asleep,
    Waiting,
    Running,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) task: TaskId,
    pub(super) pid: Pid,
    pub(super) name: String,
    pub(super) state: State,
    pub(super) class: matching::Class,
    pub(super) rq: CpuId,
    /// Who chose its CPU for the wakeup that is to come.
    pub(super) chosen: Option<Chooser>,
    /// Where it ran last.
    pub(super) last_cpu: Option<CpuId>,
    /// What brought it where it is, and what that was on this machine.
    pub(super) decision: Option<Decision>,
    pub(super) how: How,
    /// Its name's number.
    pub(super) name_number: u8,
    places: Places,
}

impl From<TaskId> for Row {
    fn from(task: TaskId) -> Self {
        let place = Place { queue: Queue::Cpu(CpuId(0)), by: By::Woke };
        Self {
            task,
            pid: Pid(0),
            name: String::new(),
            state: State::Asleep,
            class: matching::Class::default(),
            rq: CpuId(0),
            chosen: None,
            last_cpu: None,
            decision: None,
            how: How::Unknown,
            name_number: NO_NAME,
            places: Places::begin(Instant::ZERO, place),
        }
    }
}

impl Row {
    /// A wait begins.
    pub(super) fn begin(&mut self, at: Instant, rq: CpuId, place: Place) {
        (self.state, self.rq) = (State::Waiting, rq);
        self.places = Places::begin(at, place);
    }

    /// It is put elsewhere while it waits.
    pub(super) fn change(&mut self, at: Instant, place: Place) {
        if self.state == State::Waiting {
            self.places.change(at, place);
        }
    }

    /// It enters a queue while it waits. Its CPU's own queue adds nothing to what is known; another
    /// CPU's tells of a dispatch.
    pub(super) fn queue(&mut self, at: Instant, queue: Queue) {
        let now = self.places.now;
        let by = match queue {
            queue if queue == now.queue => return,
            Queue::Cpu(_) => By::Chosen(Chooser::Dispatch),
            _ => now.by,
        };
        self.change(at, Place { queue, by });
    }

    /// What to remember of it as a witness.
    pub(super) fn seen(&self, now: Instant) -> Seen {
        Seen {
            task: self.task,
            pid: self.pid,
            name: self.name.clone(),
            place: self.places.main(now),
            met: Span::ZERO,
            decision: self.decision,
        }
    }

    /// It is put where it is by this.
    pub(super) fn decided(&mut self, decision: Decision, how: How) {
        (self.decision, self.how) = (Some(decision), how);
    }

    /// What to note of it as a witness for so long.
    pub(super) fn note(&self, met: Span) -> Note {
        noted(self.task, self.name_number, self.places.now, self.how, met)
    }
}
