//! Where each task is queued: one record per task, dense by task id.

use crate::state::dsq::DsqHandle;
use keel_abi::TaskId;
use keel_abi::fetch::fetch_at;

/// No task, or no queue.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A task's record. Two fill a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Link {
    /// The queue that the task is in.
    pub(super) queue: u32,
    /// Its number among that queue's inserts.
    pub(super) seq: u32,
    /// FIFO: the task before it.
    pub(super) prev: u32,
    /// FIFO: the task behind it.
    pub(super) next: u32,
    /// FIFO: grows along the queue, wrapping.
    pub(super) rank: u32,
}

const FREE: Link = Link { queue: NOWHERE, seq: 0, prev: NOWHERE, next: NOWHERE, rank: 0 };

/// A task's stay in a queue, from its insert to its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    pub(super) queue: u32,
    pub(super) seq: u32,
}

/// Every task's record.
#[derive(Clone, Debug, Default)]
pub struct Links {
    all: Vec<Link>,
}

impl Links {
    /// Creates an empty table.
    pub const fn new() -> Self {
        Self { all: Vec::new() }
    }

    /// Allocates records up to `task`; call it before the task is looked up or inserted.
    pub fn ensure(&mut self, task: TaskId) {
        if task.index() >= self.all.len() {
            self.all.resize(task.index() + 1, FREE);
        }
    }

    /// The queue that `task` is in.
    #[inline]
    pub fn queue_of(&self, task: TaskId) -> Option<DsqHandle> {
        let queue = self.at(task).queue;
        (queue != NOWHERE).then_some(DsqHandle(queue))
    }

    /// The task's current stay, if it is in a queue.
    pub fn stay(&self, task: TaskId) -> Option<Stay> {
        let Link { queue, seq, .. } = *self.at(task);
        (queue != NOWHERE).then_some(Stay { queue, seq })
    }

    /// Requests the host's memory for a task's record.
    #[inline]
    pub(crate) fn fetch(&self, task: TaskId) {
        fetch_at(&self.all, task.index());
    }

    #[inline]
    pub(super) fn at(&self, task: TaskId) -> &Link {
        &self.all[task.index()]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, task: TaskId) -> &mut Link {
        &mut self.all[task.index()]
    }

    /// `task` is in no queue any more; returns its record from when it was.
    #[inline(always)]
    pub(super) fn leave(&mut self, task: TaskId) -> Link {
        let link = self.at_mut(task);
        let was = *link;
        link.queue = NOWHERE;
        was
    }

    /// `task` begins a stay in a queue. Returns its record, to be filled. Panics if the task is in a queue.
    #[inline(always)]
    pub(super) fn enter(&mut self, task: TaskId, stay: Stay) -> &mut Link {
        let link = self.at_mut(task);
        if link.queue != NOWHERE {
            is_queued(task);
        }
        link.queue = stay.queue;
        link.seq = stay.seq;
        link
    }
}

#[cold]
#[inline(never)]
fn is_queued(task: TaskId) -> ! {
    panic!("task {task} is in a queue already")
}
