//! What the check knows about one task, beyond what [`Scene`](crate::conduct::Scene) does.

use super::episode::Seen;
use super::groups::{How, MOST_NOTED, NO_NAME, Note, note};
use crate::conduct::Task;
use crate::matching;
use crate::origin::Act;
use crate::place::Here;
use keel_abi::{CpuId, Pid, Span, TaskId, Topology};

/// The task that woke or created a task, with its name at that time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waker {
    pub(super) task: TaskId,
    pub(super) pid: Pid,
    /// Its name's number.
    pub(super) name: u8,
}

/// What is known about a task here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(super) class: matching::Class,
    /// The group whose limit applies to it; 0 if none is known.
    pub(super) group: u32,
    /// The group and CPU that it closes, because it is throttled there.
    pub(super) closes: Option<(u32, CpuId)>,
    /// The task that last woke or created it; `None` for an interrupt.
    pub(super) waker: Option<Waker>,
    /// Its name's number.
    pub(super) name_number: u8,
}

impl Default for Row {
    fn default() -> Self {
        Self { class: matching::Class::default(), group: 0, closes: None, waker: None, name_number: NO_NAME }
    }
}

impl Row {
    /// It is woken or created, by nobody as far as is known. Returns its class.
    #[inline(always)]
    pub(crate) fn wakes(&mut self) -> matching::Class {
        self.waker = None;
        self.class
    }

    /// The task that put it in its place by a wakeup or fork, if so.
    pub(super) fn waker(&self, here: &Here) -> Option<Waker> {
        let act = here.act()?;
        self.waker.filter(|_| matches!(act, Act::Woken | Act::Forked))
    }
}

/// A part of a witness's wait. Most episodes are transients, and nobody asks about their parts; so this is only what
/// changes from part to part, until the witness leaves.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) length: Span,
    /// How much of that is not excused.
    pub(super) wasted: Span,
    pub(super) here: Here,
    /// The witness.
    pub(super) who: Who,
}

/// A witness as its parts name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    task: TaskId,
    /// Its name's number.
    name: u8,
    /// The number of the name of the task that woke or created it, if that was the decision.
    waker: Option<u8>,
}

impl Who {
    /// It is yet to leave.
    pub(super) const UNKNOWN: Self = Self { task: TaskId::IDLE, name: NO_NAME, waker: None };
}

impl Part {
    /// The witness is this task.
    pub(super) fn is_of(&mut self, task: &Task) {
        let row = &task.waste;
        let waker = row.waker(&self.here).map(|waker| waker.name);
        self.who = Who { task: task.id, name: row.name_number, waker };
    }

    /// It as a note, on this machine.
    #[inline(always)]
    pub(super) fn note(&self, topology: Option<&Topology>) -> Note {
        let &Self { wasted, ref here, who: Who { task, name, waker }, .. } = self;
        let how = here.decision(task).map_or(How::Unknown, |decision| How::of(&decision, topology));
        Note { task, name, queue: here.queue, how, waker, wasted }
    }
}

/// How many parts of an episode are kept before they become notes. As long as they are few enough, each may count by
/// itself.
pub(super) const MOST_PARTS: usize = MOST_NOTED;

/// Makes notes of all parts, in their order.
#[cold]
pub(super) fn note_parts(parts: &mut Vec<Part>, notes: &mut Vec<Note>, topology: Option<&Topology>) {
    let wasted = parts.drain(..).filter(|part| part.wasted > Span::ZERO);
    wasted.for_each(|part| note(notes, part.note(topology)));
}

/// What to remember about a witness that was `here` for `part` of the time `met` that it stayed.
pub(super) fn seen(task: &Task, here: Here, waker: Option<Waker>, part: Span, met: Span) -> Seen {
    Seen { task: task.id, pid: task.pid, name: task.name.clone(), here, waker, part, met }
}
