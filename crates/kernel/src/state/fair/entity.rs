//! A task, or a group on one CPU, as the fair class counts it (`struct sched_entity`).

use crate::state::fair::ids::{EntityId, GroupId, QueueId};
use crate::state::fair::load::TaskLoad;
use crate::state::fair::waker::Waker;
use crate::state::fair::weight::scaled;
use keel_abi::{CpuId, TaskId};
use std::ops::{Index, IndexMut};

/// All entities: tasks by number, and groups by CPU.
#[derive(Debug, Default)]
pub(crate) struct Entities {
    tasks: Vec<Entity>,
    groups: Vec<Entity>,
}

impl Entities {
    /// Has the class never had a task?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// A task's, if the class has had it.
    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> Option<&Entity> {
        self.tasks.get(task.index())
    }

    /// A task's, made where it is not there yet.
    #[inline]
    pub(super) fn task(&mut self, task: TaskId) -> &mut Entity {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, Entity::NEW);
        }
        &mut self.tasks[task.index()]
    }

    /// A new group's, on one CPU: slots are numbered in the order in which they are added.
    pub(super) fn add_group(&mut self, entity: Entity) {
        self.groups.push(entity);
    }
}

impl Index<EntityId> for Entities {
    type Output = Entity;
    #[inline]
    fn index(&self, id: EntityId) -> &Entity {
        match id.slot() {
            None => &self[id.task().expect("what is no group is a task")],
            Some(slot) => &self.groups[slot.index()],
        }
    }
}

impl IndexMut<EntityId> for Entities {
    #[inline]
    fn index_mut(&mut self, id: EntityId) -> &mut Entity {
        match id.slot() {
            None => &mut self[id.task().expect("what is no group is a task")],
            Some(slot) => &mut self.groups[slot.index()],
        }
    }
}

impl Index<TaskId> for Entities {
    type Output = Entity;
    #[inline]
    fn index(&self, task: TaskId) -> &Entity {
        &self.tasks[task.index()]
    }
}

impl IndexMut<TaskId> for Entities {
    #[inline]
    fn index_mut(&mut self, task: TaskId) -> &mut Entity {
        &mut self.tasks[task.index()]
    }
}

/// Virtual times are nanoseconds of a task of nice 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entity {
    /// Its share of the CPU.
    pub(crate) weight: i64,
    /// Is it in a queue?
    pub(crate) on_rq: bool,
    /// What it has run for.
    pub(crate) vruntime: i64,
    /// When its slice ends.
    pub(crate) deadline: i64,
    /// Until then it keeps the CPU, unless the other task has a shorter slice (`vprot`).
    pub(super) protected: i64,
    /// By how much it was behind the others when it left a queue (`vlag`).
    pub(crate) lag: i64,
    /// What was left until its deadline, where it left a queue without having slept (`rel_deadline`).
    pub(crate) left: Option<i64>,
    /// What it asks to run for at a time, in nanoseconds of its own.
    pub(crate) slice_ns: u64,
    /// It sleeps, but competes until it is owed something again (`sched_delayed`).
    pub(crate) delayed: bool,
    /// Its policy is SCHED_IDLE, or its group's `cpu.idle` is 1.
    pub(crate) is_idle: bool,
    /// The queue that it is in, or was last in.
    pub(crate) queue: QueueId,
    /// A task's group; nothing until that is looked up.
    pub(crate) group: Option<GroupId>,
    /// A task's group has used up its `cpu.max`: it is in no queue until the group gets more (`p->throttled`).
    pub(crate) is_throttled: bool,
    /// What it has weighed, waited and run of late.
    pub(crate) load: TaskLoad,
    /// Which task it wakes.
    pub(crate) waker: Waker,
    /// Where it was before its last wakeup (`recent_used_cpu`).
    pub(crate) recent: Option<CpuId>,
    /// Its place on its CPU's list, which balancing takes tasks from.
    pub(crate) listed: u64,
    /// Its place among those of the same deadline: the order in which they came.
    pub(super) turn: u64,
}

impl Entity {
    /// One that has never been in a queue.
    pub(super) const NEW: Self = Self {
        weight: 0,
        on_rq: false,
        vruntime: 0,
        deadline: 0,
        protected: 0,
        lag: 0,
        left: None,
        slice_ns: 0,
        delayed: false,
        is_idle: false,
        queue: QueueId::root(CpuId(0)),
        group: None,
        is_throttled: false,
        load: TaskLoad::NEW,
        waker: Waker::NEW,
        recent: None,
        listed: 0,
        turn: 0,
    };

    /// Time of its own in virtual time (`calc_delta_fair()`).
    pub(super) fn scaled(&self, ns: u64) -> i64 {
        scaled(ns, self.weight)
    }

    /// Does it keep the CPU (`protect_slice()`)?
    pub(crate) fn is_protected(&self) -> bool {
        self.vruntime < self.protected
    }

    /// It does no more (`cancel_protect_slice()`).
    pub(crate) fn unprotect(&mut self) {
        self.protected = self.protected.min(self.vruntime);
    }
}
