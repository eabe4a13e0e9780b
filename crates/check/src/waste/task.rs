//! What the check knows about one task.

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

/// The task that woke or created a task, with its name at that time.
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
    /// Its name, shared with everything remembered about it.
    pub(super) name: Arc<str>,
    pub(super) state: State,
    pub(super) class: matching::Class,
    pub(super) rq: CpuId,
    /// The kernel keeps it off every CPU.
    pub(super) throttled: bool,
    /// The group whose limit applies to it; 0 if none is known.
    pub(super) group: u32,
    /// The group and CPU that it closes, because it is throttled there.
    pub(super) closes: Option<(u32, CpuId)>,
    /// The task that last woke or created it; `None` for an interrupt.
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
    /// The task that put it in its place by a wakeup or fork, if so.
    pub(super) fn waker(&self, origin: &Origin) -> Option<Waker> {
        let act = origin.decision()?.act;
        self.waker.filter(|_| matches!(act, Act::Woken | Act::Forked))
    }

    /// What to remember about it as a witness that was `here` for `part` of the time `met` that it stayed.
    pub(super) fn seen(&self, here: Here, waker: Option<Waker>, part: Span, met: Span) -> Seen {
        Seen { task: self.task, pid: self.pid, name: self.name.clone(), here, waker, part, met }
    }

    /// What to note about it as a witness for this much waste.
    pub(super) fn note(&self, origin: &Origin, wasted: Span, topology: Option<&Topology>) -> Note {
        let how = origin.decision().map_or(How::Unknown, |decision| How::of(&decision, topology));
        let waker = self.waker(origin).map(|waker| waker.name);
        Note { task: self.task, name: self.name_number, queue: origin.here.queue, how, waker, wasted }
    }
}
