//! Mutexes: their owners, their waiters, and the priorities that owners inherit.

use keel_abi::TaskId;
use keel_abi::task::ObjectId;
use std::collections::BTreeMap;

/// How far a chain of owners and waiters is followed (`max_lock_depth`).
pub(crate) const MAX_DEPTH: u16 = 1024;

/// All mutexes of a workload.
#[derive(Debug, Default)]
pub(crate) struct Mutexes {
    all: Vec<Mutex>,
    /// Each task's mutexes with priority inheritance; only for tasks that hold or want one.
    pub(crate) ties: BTreeMap<TaskId, Ties>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Mutex {
    pub(crate) owner: Option<TaskId>,
    /// The most urgent first, then in order of arrival.
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) inherits: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) task: TaskId,
    priority: u8,
}

#[derive(Debug, Default)]
pub(crate) struct Ties {
    held: Vec<ObjectId>,
    /// `p->pi_blocked_on`.
    pub(crate) awaited: Option<ObjectId>,
}

impl Mutex {
    pub(crate) fn enqueue(&mut self, task: TaskId, priority: u8) {
        let behind = self.waiters.partition_point(|waiter| waiter.priority >= priority);
        self.waiters.insert(behind, Waiter { task, priority });
    }

    fn forget(&mut self, task: TaskId) {
        self.waiters.retain(|waiter| waiter.task != task);
    }

    pub(crate) fn top(&self) -> Option<TaskId> {
        self.waiters.first().map(|waiter| waiter.task)
    }
}

impl Mutexes {
    /// The number of mutexes, and how many of them inherit priorities.
    pub(super) fn new(count: u32, inheriting: &[ObjectId]) -> Self {
        let mut all = vec![Mutex::default(); count as usize];
        for id in inheriting {
            all[id.0 as usize].inherits = true;
        }
        Self { all, ties: BTreeMap::new() }
    }

    pub(crate) fn get(&mut self, id: ObjectId) -> &mut Mutex {
        &mut self.all[id.0 as usize]
    }

    pub(crate) fn owner(&self, id: ObjectId) -> Option<TaskId> {
        self.all[id.0 as usize].owner
    }

    /// The first waiter.
    pub(crate) fn first(&self, id: ObjectId) -> Option<TaskId> {
        self.all[id.0 as usize].top()
    }

    /// Returns whether the task waits for this mutex, which has priority inheritance.
    pub(crate) fn awaits(&self, task: TaskId, id: ObjectId) -> bool {
        self.awaited(task) == Some(id)
    }

    fn awaited(&self, task: TaskId) -> Option<ObjectId> {
        self.ties.get(&task)?.awaited
    }

    /// The first waiter of the mutex that the task waits for; this may be the task itself.
    pub(crate) fn first_beside(&self, task: TaskId) -> Option<TaskId> {
        self.first(self.awaited(task)?)
    }

    /// The first waiter of each mutex with priority inheritance that the task holds.
    pub(crate) fn firsts_behind(&self, owner: TaskId) -> Vec<TaskId> {
        let held = self.ties.get(&owner).map_or(&[][..], |ties| &ties.held);
        held.iter().filter_map(|&id| self.first(id)).collect()
    }

    /// A mutex with priority inheritance that the task holds.
    pub(crate) fn held(&self, task: TaskId) -> Option<ObjectId> {
        self.ties.get(&task)?.held.first().copied()
    }

    /// Takes a mutex with priority inheritance if it is free and no other task goes first (`try_to_take_rt_mutex()`).
    pub(crate) fn try_take(&mut self, task: TaskId, priority: u8, id: ObjectId) -> bool {
        let mutex = self.get(id);
        let comes_first = |top: &Waiter| top.task == task || priority > top.priority;
        if mutex.owner.is_some() || !mutex.waiters.first().is_none_or(comes_first) {
            return false;
        }
        mutex.owner = Some(task);
        mutex.forget(task);
        let ties = self.ties.entry(task).or_default();
        ties.held.push(id);
        ties.awaited = None;
        true
    }

    /// The task releases a mutex; returns whether another task waits for it.
    pub(crate) fn give_up(&mut self, task: TaskId, id: ObjectId) -> bool {
        let mutex = self.get(id);
        mutex.owner = None;
        let awaited = !mutex.waiters.is_empty();
        if let Some(ties) = self.ties.get_mut(&task) {
            ties.held.retain(|&held| held != id);
            if ties.held.is_empty() && ties.awaited.is_none() {
                self.ties.remove(&task);
            }
        }
        awaited
    }

    /// The priority that the task inherits, 0 for none (`task_top_pi_waiter()`).
    pub(crate) fn inherited(&self, task: TaskId) -> u8 {
        let held = self.ties.get(&task).map_or(&[][..], |ties| &ties.held);
        let waiters = held.iter().filter_map(|id| self.all[id.0 as usize].waiters.first());
        waiters.map(|waiter| waiter.priority).max().unwrap_or(0)
    }

    /// Returns whether the task would end up waiting for itself, or for a longer chain than the kernel follows.
    pub(crate) fn is_deadlock(&self, task: TaskId, id: ObjectId) -> bool {
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            let Some(owner) = self.all[id.0 as usize].owner else { return false };
            let Some(awaited) = self.ties.get(&owner).and_then(|ties| ties.awaited) else { return false };
            if self.all[awaited.0 as usize].owner == Some(task) {
                return true;
            }
            id = awaited;
        }
        true
    }

    /// The priority of a task that waits for a mutex has changed. Returns which task has to be checked next, and why.
    pub(crate) fn requeue(&mut self, task: TaskId, priority: u8) -> Option<Next> {
        let id = self.ties.get(&task)?.awaited?;
        let mutex = self.get(id);
        let before = mutex.top();
        let changed = mutex.waiters.iter().any(|w| w.task == task && w.priority != priority);
        if !changed {
            return None;
        }
        mutex.forget(task);
        mutex.enqueue(task, priority);
        match (mutex.owner, mutex.top()) {
            (Some(owner), _) => Some(Next::Owner(owner)),
            (None, top) if top != before => top.map(Next::Wake),
            (None, _) => None,
        }
    }
}

/// Where a chain continues.
pub(crate) enum Next {
    /// The owner may inherit another priority.
    Owner(TaskId),
    /// The mutex is free: this task is first now.
    Wake(TaskId),
}
