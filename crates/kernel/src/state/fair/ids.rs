//! Names of what competes in the fair class, and of where it competes.

use keel_abi::{CpuId, TaskId};

/// What competes for a CPU (`struct sched_entity`): a task, or a group on one CPU, which represents the tasks in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityId(u32);

/// Set in the number of a group's entity.
const IS_GROUP: u32 = 1 << 31;

/// A group on one CPU, in the order in which tasks came there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

/// A task group (`struct task_group`), in the order in which the class met them; the root has number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupId(pub(crate) u32);

/// A queue (`struct cfs_rq`): the root's of a CPU, or a group's there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueId {
    pub(crate) cpu: CpuId,
    /// Nothing for the root's.
    pub(crate) slot: Slot,
}

impl From<TaskId> for EntityId {
    fn from(task: TaskId) -> Self {
        Self(task.0)
    }
}

impl EntityId {
    /// The task that it is, if it is one.
    #[inline]
    pub(crate) fn task(self) -> Option<TaskId> {
        (self.0 & IS_GROUP == 0).then_some(TaskId(self.0))
    }

    /// The group on a CPU that it represents, if it is no task.
    #[inline]
    pub(crate) fn slot(self) -> Option<Slot> {
        (self.0 & IS_GROUP != 0).then_some(Slot(self.0 & !IS_GROUP))
    }
}

impl Slot {
    /// No group's: the root.
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

    /// The group on its CPU whose queue it is; nothing for the root's.
    #[inline]
    pub(crate) fn group(self) -> Option<Slot> {
        (self.slot != Slot::ROOT).then_some(self.slot)
    }
}
