//! Dispatch queues, FIFO or ordered by vtime, which behave like `struct scx_dispatch_q`.
//!
//! A task is in at most one queue, so every task has one [`Links`] record, whichever queue it is in. A non-empty queue
//! keeps its mode; an empty one may switch. Each insert draws the queue's next number, so that an iteration does not
//! see tasks queued after it began.

mod fifo;
mod heap;
mod iter;
mod links;
mod table;

pub use iter::Cursor;
pub use links::{Links, Stay};
pub use table::CreateError;
pub use table::DestroyError;
pub use table::DsqTable;

use crate::state::cost::lock::VirtualLock;
use crate::state::dsq::heap::Heap;
use keel_abi::lines::Line;
use keel_abi::{DsqId, TaskId};
use std::fmt;

/// A queue's index in a [`DsqTable`]. It stays the same for the queue's life and is reused afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DsqHandle(pub u32);

impl DsqHandle {
    /// As an index into a dense array.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A task was inserted in FIFO order into a queue that holds vtime tasks, or the reverse: an error of the scheduler.
/// The task is queued anyway, behind all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedModes {
    /// A vtime insert; the queue holds FIFO tasks.
    HoldsFifo,
    /// A FIFO insert; the queue holds vtime tasks.
    HoldsPriority,
}

impl fmt::Display for MixedModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HoldsFifo => "a vtime insert into a queue that holds FIFO tasks",
            Self::HoldsPriority => "a FIFO insert into a queue that holds vtime tasks",
        })
    }
}

impl std::error::Error for MixedModes {}

/// One dispatch queue. Always pass it the links of its own table. The fields are in their order in memory, those that
/// each use touches first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Dsq {
    heap: Heap,
    fifo: fifo::Fifo,
    len: u32,
    /// The number of the last insert; wraps like the kernel's `dsq->seq`.
    seq: u32,
    /// Its cache line, with its lock.
    pub(crate) line: Line,
    id: DsqId,
    handle: u32,
    /// A local queue is under its runqueue's lock instead.
    pub(crate) lock: VirtualLock,
    sorted: iter::Sorted,
}

impl Dsq {
    /// An empty queue whose handle is `handle`.
    pub fn new(id: DsqId, handle: DsqHandle) -> Self {
        Self {
            id,
            handle: handle.0,
            line: Line::default(),
            lock: VirtualLock::default(),
            len: 0,
            seq: 0,
            fifo: fifo::Fifo::default(),
            heap: Heap::default(),
            sorted: iter::Sorted::default(),
        }
    }

    /// Its 64-bit id.
    pub const fn id(&self) -> DsqId {
        self.id
    }

    /// Its handle.
    pub const fn handle(&self) -> DsqHandle {
        DsqHandle(self.handle)
    }

    /// How many tasks it holds.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// What events show of it: its id, and how many tasks it holds.
    #[inline]
    pub(crate) const fn shown(&self) -> (DsqId, u32) {
        (self.id, self.len)
    }

    /// Returns whether it is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether it holds tasks ordered by vtime.
    #[inline]
    pub fn is_priority(&self) -> bool {
        !self.heap.is_empty()
    }

    /// Returns whether `task` is in this queue.
    #[inline]
    pub fn holds(&self, links: &Links, task: TaskId) -> bool {
        links.at(task).queue == self.handle
    }

    /// Inserts at the tail (`scx_bpf_dsq_insert()`). Panics if the task is in a queue.
    #[inline]
    pub fn push_tail(&mut self, links: &mut Links, task: TaskId) -> Result<(), MixedModes> {
        let stay = self.new_stay();
        if self.is_priority() {
            let vtime = self.heap.behind_all();
            self.heap.push(links, vtime, task, stay);
            return Err(MixedModes::HoldsPriority);
        }
        self.fifo.push_tail(links, task, stay);
        Ok(())
    }

    /// Like `push_tail` for a queue that is never ordered by vtime.
    #[inline(always)]
    pub(crate) fn push_tail_of_list(&mut self, links: &mut Links, task: TaskId) {
        debug_assert!(!self.is_priority());
        let stay = self.new_stay();
        self.fifo.push_tail(links, task, stay);
    }

    /// Like `push_head` for a queue that is never ordered by vtime.
    #[inline]
    pub(crate) fn push_head_of_list(&mut self, links: &mut Links, task: TaskId) {
        debug_assert!(!self.is_priority());
        let stay = self.new_stay();
        self.fifo.push_head(links, task, stay);
    }

    /// Inserts at the head (`SCX_ENQ_HEAD`, `SCX_ENQ_PREEMPT`). Panics if the task is in a queue.
    #[inline]
    pub fn push_head(&mut self, links: &mut Links, task: TaskId) -> Result<(), MixedModes> {
        if self.is_priority() {
            return self.push_tail(links, task);
        }
        self.push_head_of_list(links, task);
        Ok(())
    }

    /// Inserts by vtime, behind equal ones (`scx_bpf_dsq_insert_vtime()`). Panics if the task is
    /// in a queue.
    #[inline(always)]
    pub fn push_vtime(&mut self, links: &mut Links, task: TaskId, vtime: u64) -> Result<(), MixedModes> {
        if !self.fifo.is_empty() {
            return self.push_behind_fifo(links, task);
        }
        let stay = self.new_stay();
        self.heap.push(links, vtime, task, stay);
        Ok(())
    }

    /// A vtime insert into a queue that holds FIFO tasks.
    #[cold]
    #[inline(never)]
    fn push_behind_fifo(&mut self, links: &mut Links, task: TaskId) -> Result<(), MixedModes> {
        let stay = self.new_stay();
        self.fifo.push_tail(links, task, stay);
        Err(MixedModes::HoldsFifo)
    }

    /// Removes `task`; returns whether it was in this queue.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, task: TaskId) -> bool {
        let holds = self.holds(links, task);
        if holds {
            self.take_out(links, task);
        }
        holds
    }

    /// Removes `task`, which is in this queue.
    #[inline(always)]
    pub(crate) fn take_out(&mut self, links: &mut Links, task: TaskId) {
        debug_assert!(self.holds(links, task));
        self.len -= 1;
        let was = links.leave(task);
        if self.fifo.is_empty() {
            self.heap.remove(task);
        } else {
            self.fifo.remove(links, was);
        }
    }

    /// Like `take_out` for the first task. Returns the neighbour that it had, if any.
    #[inline(always)]
    pub(crate) fn take_first(&mut self, links: &mut Links, first: TaskId) -> Option<TaskId> {
        debug_assert_eq!(self.first(), Some(first));
        self.len -= 1;
        let was = links.leave(first);
        if self.fifo.is_empty() { self.heap.remove_first() } else { self.fifo.remove_first(links, was) }
    }

    /// Like `take_out` for a task that is mostly the first of a queue that is never ordered by vtime.
    #[inline(always)]
    pub(crate) fn take_out_of_list(&mut self, links: &mut Links, task: TaskId) {
        debug_assert!(self.holds(links, task) && !self.is_priority());
        self.len -= 1;
        let was = links.leave(task);
        match self.fifo.first() == Some(task) {
            true => _ = self.fifo.remove_first(links, was),
            false => self.fifo.remove(links, was),
        }
    }

    /// The first task.
    #[inline(always)]
    pub fn first(&self) -> Option<TaskId> {
        self.fifo.first().or_else(|| self.heap.first())
    }

    /// The first task of a queue that is never ordered by vtime.
    #[inline(always)]
    pub(crate) fn first_of_list(&self) -> Option<TaskId> {
        debug_assert!(!self.is_priority());
        self.fifo.first()
    }

    /// The last task in order of arrival; `None` in vtime order.
    #[inline]
    pub(crate) fn last(&self) -> Option<TaskId> {
        self.fifo.last()
    }

    /// The tasks on the path between the place where the kernel would link the next task by vtime and the root of its
    /// tree, bottom up. A complete tree over the same tasks stands for the red-black tree, which is at most twice as
    /// deep.
    #[inline]
    pub(crate) fn way_down(&self) -> impl Iterator<Item = TaskId> {
        self.heap.way_down()
    }

    /// The neighbours of a task in the queue: those linked to it.
    #[inline]
    pub(crate) fn neighbours(&self, links: &Links, task: TaskId) -> [Option<TaskId>; 2] {
        if self.fifo.is_empty() {
            return self.heap.neighbours(task);
        }
        [true, false].map(|reverse| fifo::Fifo::step(links, task, reverse))
    }

    /// Removes and returns the first task.
    #[inline]
    pub fn pop_first(&mut self, links: &mut Links) -> Option<TaskId> {
        let task = self.first()?;
        self.take_first(links, task);
        Some(task)
    }

    /// The first task in order that is `eligible`. Stops at that task.
    #[inline]
    pub fn first_where(&self, links: &Links, mut eligible: impl FnMut(TaskId) -> bool) -> Option<TaskId> {
        let first = self.first()?;
        if eligible(first) { Some(first) } else { self.first_behind_where(links, eligible) }
    }

    /// Like `first_where` among those behind the first.
    pub(crate) fn first_behind_where(
        &self,
        links: &Links,
        eligible: impl FnMut(TaskId) -> bool,
    ) -> Option<TaskId> {
        if self.fifo.is_empty() {
            self.heap.first_after_root_where(eligible)
        } else {
            self.fifo.first_after_head_where(links, eligible)
        }
    }

    /// All its tasks in order.
    pub fn tasks(&self, links: &Links) -> Vec<TaskId> {
        let mut all = Vec::with_capacity(self.len as usize);
        self.first_where(links, |task| {
            all.push(task);
            false
        });
        all
    }

    /// Counts one more task, whose stay begins.
    #[inline(always)]
    fn new_stay(&mut self) -> Stay {
        self.seq = self.seq.wrapping_add(1);
        self.len += 1;
        Stay { queue: self.handle, seq: self.seq }
    }
}

#[cfg(test)]
mod tests;
