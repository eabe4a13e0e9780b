//! Ids of the entities that compete in the fair class, and of the queues that they compete in.

use keel_abi::{CpuId, TaskId};

/// An entity that competes for a CPU (`struct sched_entity`): a task, or a group on one CPU, which represents its
/// tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityId(u32);

/// Set in the number of a group's entity.
const IS_GROUP: u32 = 1 << 31;

/// A group on one CPU, in the order in which tasks came there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

/// A task group (`struct task_group`), numbered in the order of first use; the root has number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupId(pub(crate) u32);

/// A queue (`struct cfs_rq`): a CPU's root queue, or a group's queue there.
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
    /// The task, if the entity is one.
    #[inline]
    pub(crate) fn task(self) -> Option<TaskId> {
        (self.0 & IS_GROUP == 0).then_some(TaskId(self.0))
    }

    /// The group on a CPU that the entity represents, if it is not a task.
    #[inline]
    pub(crate) fn slot(self) -> Option<Slot> {
        (self.0 & IS_GROUP != 0).then_some(Slot(self.0 & !IS_GROUP))
    }
}

impl Slot {
    /// The root: no group.
    const ROOT: Self = Self(u32::MAX);

    pub(crate) fn at(place: usize) -> Self {
        Self(place as u32)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The entity that represents the group in its parent's queue.
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
    /// The queue at the top of a CPU.
    pub(crate) const fn root(cpu: CpuId) -> Self {
        Self { cpu, slot: Slot::ROOT }
    }

    /// The group on its CPU that owns the queue; `None` for a root queue.
    #[inline]
    pub(crate) fn group(self) -> Option<Slot> {
        (self.slot != Slot::ROOT).then_some(self.slot)
    }
}
