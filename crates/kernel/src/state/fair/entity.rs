//! A scheduling entity of the fair class (`struct sched_entity`): a task, or a group on one CPU.

use crate::state::fair::ids::{EntityId, GroupId, QueueId};
use crate::state::fair::load::TaskLoad;
use crate::state::fair::waker::Waker;
use crate::state::fair::weight::scaled;
use keel_abi::{CpuId, TaskId};
use std::ops::{Index, IndexMut};

/// All entities: tasks by number, and groups by slot.
#[derive(Debug, Default)]
pub(crate) struct Entities {
    tasks: Vec<Entity>,
    groups: Vec<Entity>,
}

impl Entities {
    /// Returns whether the class has never had a task.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns a task's entity, if the class has ever had the task.
    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> Option<&Entity> {
        self.tasks.get(task.index())
    }

    /// Returns a task's entity, created if necessary.
    #[inline]
    pub(super) fn task(&mut self, task: TaskId) -> &mut Entity {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, Entity::NEW);
        }
        &mut self.tasks[task.index()]
    }

    /// Adds a group's entity on one CPU. Slots are numbered in the order in which they are added.
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

/// An entity. Virtual times are in nanoseconds of a nice 0 task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entity {
    /// Its weight.
    pub(crate) weight: i64,
    /// Whether it is in a queue.
    pub(crate) on_rq: bool,
    /// Its virtual runtime.
    pub(crate) vruntime: i64,
    /// Its virtual deadline, at which its slice ends.
    pub(crate) deadline: i64,
    /// Up to this virtual time it keeps the CPU, unless a task with a shorter slice wakes (`vprot`).
    pub(super) protected: i64,
    /// How far it was behind the queue's virtual time when it left (`vlag`).
    pub(crate) lag: i64,
    /// The virtual time that was left until its deadline, if it left a queue without going to sleep (`rel_deadline`).
    pub(crate) left: Option<i64>,
    /// Its requested slice, in nanoseconds of its own time.
    pub(crate) slice_ns: u64,
    /// Whether it sleeps but stays queued until its lag is settled (`sched_delayed`).
    pub(crate) delayed: bool,
    /// Whether its policy is SCHED_IDLE, or its group's `cpu.idle` is 1.
    pub(crate) is_idle: bool,
    /// The queue that it is in, or was last in.
    pub(crate) queue: QueueId,
    /// A task's group; `None` until it is first looked up.
    pub(crate) group: Option<GroupId>,
    /// Whether a task's group has used up its `cpu.max`, so that the task is in no queue (`p->throttled`).
    pub(crate) is_throttled: bool,
    /// Its recent load, runnable time and running time.
    pub(crate) load: TaskLoad,
    /// The history of tasks that it wakes.
    pub(crate) waker: Waker,
    /// The CPU on which it was before its last wakeup (`recent_used_cpu`).
    pub(crate) recent: Option<CpuId>,
    /// Its position in its CPU's list, from which load balancing takes tasks.
    pub(crate) listed: u64,
    /// Its position among entities with the same deadline, which are in order of arrival.
    pub(super) turn: u64,
}

impl Entity {
    /// An entity that has never been in a queue.
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

    /// Converts the entity's own time to virtual time (`calc_delta_fair()`).
    pub(super) fn scaled(&self, ns: u64) -> i64 {
        scaled(ns, self.weight)
    }

    /// Returns whether its slice is protected (`protect_slice()`).
    pub(crate) fn is_protected(&self) -> bool {
        self.vruntime < self.protected
    }

    /// Ends the protection of its slice (`cancel_protect_slice()`).
    pub(crate) fn unprotect(&mut self) {
        self.protected = self.protected.min(self.vruntime);
    }
}
