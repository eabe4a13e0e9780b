//! Ids of the fair class's entities, and of the queues that they are in.

use keel_abi::{CpuId, TaskId};

/// An entity that competes for a CPU (`struct sched_entity`): a task, or a group on one CPU, which represents the
/// group's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityId(u32);

/// This bit is set in the number of a group's entity.
const IS_GROUP: u32 = 1 << 31;

/// A group on one CPU. Slots are numbered in the order in which tasks first joined them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

/// A task group (`struct task_group`). Groups are numbered in the order of first use; the root has number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupId(pub(crate) u32);

/// A queue (`struct cfs_rq`): a CPU's root queue, or a group's queue on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueId {
    pub(crate) cpu: CpuId,
    /// `Slot::ROOT` for a root queue.
    pub(crate) slot: Slot,
}

impl From<TaskId> for EntityId {
    fn from(task: TaskId) -> Self {
        Self(task.0)
    }
}

impl EntityId {
    /// Returns the task, if the entity is one.
    #[inline]
    pub(crate) fn task(self) -> Option<TaskId> {
        (self.0 & IS_GROUP == 0).then_some(TaskId(self.0))
    }

    /// Returns the group's slot, if the entity is not a task.
    #[inline]
    pub(crate) fn slot(self) -> Option<Slot> {
        (self.0 & IS_GROUP != 0).then_some(Slot(self.0 & !IS_GROUP))
    }
}

impl Slot {
    /// The root queue, which belongs to no slot.
    const ROOT: Self = Self(u32::MAX);

    pub(crate) fn at(place: usize) -> Self {
        Self(place as u32)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the entity that represents the group in its parent's queue.
    pub(crate) fn entity(self) -> EntityId {
        EntityId(self.0 | IS_GROUP)
    }
}

impl GroupId {
    pub(crate) const ROOT: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl QueueId {
    /// Returns a CPU's root queue.
    pub(crate) const fn root(cpu: CpuId) -> Self {
        Self { cpu, slot: Slot::ROOT }
    }

    /// Returns the slot of the group that owns the queue, or `None` for a root queue.
    #[inline]
    pub(crate) fn group(self) -> Option<Slot> {
        (self.slot != Slot::ROOT).then_some(self.slot)
    }
}
