//! What the check knows of one task.

use super::episode::Seen;
use super::groups::{How, NO_NAME, Note};
use crate::matching;
use crate::origin::{Act, Origin};
use crate::place::Here;
use keel_abi::{CpuId, Pid, Span, TaskId, Topology};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Asleep,
    Waiting,
    Running,
}

/// Who woke or made a task, as it was called then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waker {
    pub(super) task: TaskId,
    pub(super) pid: Pid,
    /// Its name's number.
    pub(super) name: u8,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) task: TaskId,
    pub(super) pid: Pid,
    /// Shared with what is remembered of it.
    pub(super) name: Arc<str>,
    pub(super) state: State,
    pub(super) class: matching::Class,
    pub(super) rq: CpuId,
    /// The kernel keeps it off every CPU.
    pub(super) throttled: bool,
    /// The group with the limit that holds for it; 0 for none that is known.
    pub(super) group: u32,
    /// The CPU that it closes, and to which group: throttled there.
    pub(super) closes: Option<(u32, CpuId)>,
    /// Who woke or made it last; none for an interrupt.
    pub(super) waker: Option<Waker>,
    /// Its name's number.
    pub(super) name_number: u8,
}

impl From<TaskId> for Row {
    fn from(task: TaskId) -> Self {
        Self {
            task,
            pid: Pid(0),
            name: Arc::default(),
            state: State::Asleep,
            class: matching::Class::default(),
            rq: CpuId(0),
            throttled: false,
            group: 0,
            closes: None,
            waker: None,
            name_number: NO_NAME,
        }
    }
}

impl Row {
    /// Who brought it where it is, if that was a wakeup or fork.
    pub(super) fn waker(&self, origin: &Origin) -> Option<Waker> {
        let act = origin.decision()?.act;
        self.waker.filter(|_| matches!(act, Act::Woken | Act::Forked))
    }

    /// What to remember of it as a witness that was so for `part` of the `met` that it was there.
    pub(super) fn seen(&self, here: Here, waker: Option<Waker>, part: Span, met: Span) -> Seen {
        Seen { task: self.task, pid: self.pid, name: self.name.clone(), here, waker, part, met }
    }

    /// What to note of it as a witness during so much waste.
    pub(super) fn note(&self, origin: &Origin, wasted: Span, topology: Option<&Topology>) -> Note {
        let how = origin.decision().map_or(How::Unknown, |decision| How::of(&decision, topology));
        let waker = self.waker(origin).map(|waker| waker.name);
        Note { task: self.task, name: self.name_number, queue: origin.here.queue, how, waker, wasted }
    }
}
