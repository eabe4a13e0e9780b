//! A task, or a group on one CPU, as the fair class sees it (`struct sched_entity`).

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

    /// A task's entity, if the class has had the task.
    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> Option<&Entity> {
        self.tasks.get(task.index())
    }

    /// A task's entity, created if necessary.
    #[inline]
    pub(super) fn task(&mut self, task: TaskId) -> &mut Entity {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, Entity::NEW);
        }
        &mut self.tasks[task.index()]
    }

    /// Adds a new group's entity on one CPU: slots are numbered in the order in which they are added.
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
    /// Its share of the CPU.
    pub(crate) weight: i64,
    /// Is it in a queue?
    pub(crate) on_rq: bool,
    /// Its virtual runtime.
    pub(crate) vruntime: i64,
    /// Its virtual deadline: when its slice ends.
    pub(crate) deadline: i64,
    /// It keeps the CPU until then, unless the other task has a shorter slice (`vprot`).
    pub(super) protected: i64,
    /// How far it was behind the others when it left a queue (`vlag`).
    pub(crate) lag: i64,
    /// The time that was left until its deadline, if it left a queue without going to sleep (`rel_deadline`).
    pub(crate) left: Option<i64>,
    /// The slice that it asks for, in nanoseconds of its own time.
    pub(crate) slice_ns: u64,
    /// It sleeps, but stays queued until its lag is settled (`sched_delayed`).
    pub(crate) delayed: bool,
    /// Its policy is SCHED_IDLE, or its group's `cpu.idle` is 1.
    pub(crate) is_idle: bool,
    /// The queue that it is in, or was last in.
    pub(crate) queue: QueueId,
    /// A task's group; `None` until it is looked up.
    pub(crate) group: Option<GroupId>,
    /// A task's group has used up its `cpu.max`: it is in no queue until the group gets more (`p->throttled`).
    pub(crate) is_throttled: bool,
    /// Its recent load, waiting and running time.
    pub(crate) load: TaskLoad,
    /// Which tasks it wakes.
    pub(crate) waker: Waker,
    /// Where it was before its last wakeup (`recent_used_cpu`).
    pub(crate) recent: Option<CpuId>,
    /// Its position in its CPU's list, from which balancing takes tasks.
    pub(crate) listed: u64,
    /// Its position among entities with the same deadline: they are in order of arrival.
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

    /// Converts its own time to virtual time (`calc_delta_fair()`).
    pub(super) fn scaled(&self, ns: u64) -> i64 {
        scaled(ns, self.weight)
    }

    /// Is its slice protected (`protect_slice()`)?
    pub(crate) fn is_protected(&self) -> bool {
        self.vruntime < self.protected
    }

    /// Ends the protection (`cancel_protect_slice()`).
    pub(crate) fn unprotect(&mut self) {
        self.protected = self.protected.min(self.vruntime);
    }
}
