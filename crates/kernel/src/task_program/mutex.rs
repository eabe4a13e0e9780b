//! Mutexes as threads have them: taken and given back in user mode where nobody waits, else with the kernel's help
//! ([futexes](super::futex), where the costs are).
//!
//! The waiters of a plain one are woken one at a time, real-time tasks first by priority, then first come, first served; who is
//! woken tries again, and may find that another was quicker (`futex_wake()`). One that hands priorities on
//! (`PTHREAD_PRIO_INHERIT`) goes to its most urgent waiter, unless somebody even more urgent comes before that one runs; its
//! owner is as urgent as that waiter meanwhile (`rt_mutex_slowlock()`, `rt_mutex_slowunlock()`), which may spin for it
//! ([`super::spin`]).

use super::Then;
use super::sync::wake_of;
use crate::frame::Frame;
use crate::rt::RtFrame;
use crate::sim::Sim;
use crate::task::Doing;
use keel_abi::bpf::Engine;
use keel_abi::task::ObjectId;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};
use std::collections::BTreeMap;

/// How far a chain of owners and waiters is followed (`max_lock_depth`).
pub(crate) const MAX_DEPTH: u16 = 1024;

/// All mutexes of a workload.
#[derive(Debug, Default)]
pub(crate) struct Mutexes {
    all: Vec<Mutex>,
    /// What tasks have to do with mutexes that hand priorities on; only of those that have or want one.
    ties: BTreeMap<TaskId, Ties>,
}

#[derive(Clone, Debug, Default)]
struct Mutex {
    owner: Option<TaskId>,
    /// The most urgent first, then first come, first served.
    waiters: Vec<Waiter>,
    inherits: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    task: TaskId,
    priority: u8,
}

#[derive(Debug, Default)]
struct Ties {
    held: Vec<ObjectId>,
    /// `p->pi_blocked_on`.
    awaited: Option<ObjectId>,
}

impl Mutex {
    fn enqueue(&mut self, task: TaskId, priority: u8) {
        let behind = self.waiters.partition_point(|waiter| waiter.priority >= priority);
        self.waiters.insert(behind, Waiter { task, priority });
    }

    fn forget(&mut self, task: TaskId) {
        self.waiters.retain(|waiter| waiter.task != task);
    }

    fn top(&self) -> Option<TaskId> {
        self.waiters.first().map(|waiter| waiter.task)
    }
}

impl Mutexes {
    /// So many, of which these hand priorities on.
    pub(super) fn new(count: u32, inheriting: &[ObjectId]) -> Self {
        let mut all = vec![Mutex::default(); count as usize];
        for id in inheriting {
            all[id.0 as usize].inherits = true;
        }
        Self { all, ties: BTreeMap::new() }
    }

    fn get(&mut self, id: ObjectId) -> &mut Mutex {
        &mut self.all[id.0 as usize]
    }

    pub(super) fn owner(&self, id: ObjectId) -> Option<TaskId> {
        self.all[id.0 as usize].owner
    }

    /// Whoever comes first of those that wait for it.
    pub(super) fn first(&self, id: ObjectId) -> Option<TaskId> {
        self.all[id.0 as usize].top()
    }

    /// Does the task wait for this mutex, which hands priorities on?
    pub(super) fn awaits(&self, task: TaskId, id: ObjectId) -> bool {
        self.awaited(task) == Some(id)
    }

    fn awaited(&self, task: TaskId) -> Option<ObjectId> {
        self.ties.get(&task)?.awaited
    }

    /// The first waiter of the mutex that the task waits for, perhaps itself.
    pub(crate) fn first_beside(&self, task: TaskId) -> Option<TaskId> {
        self.first(self.awaited(task)?)
    }

    /// The first waiter of each mutex that the task has and that hands priorities on.
    pub(super) fn firsts_behind(&self, owner: TaskId) -> Vec<TaskId> {
        let held = self.ties.get(&owner).map_or(&[][..], |ties| &ties.held);
        held.iter().filter_map(|&id| self.first(id)).collect()
    }

    /// A mutex of the task's that hands priorities on.
    pub(crate) fn held(&self, task: TaskId) -> Option<ObjectId> {
        self.ties.get(&task)?.held.first().copied()
    }

    /// Takes a mutex that hands priorities on, if it is free and nobody comes before the task (`try_to_take_rt_mutex()`).
    fn try_take(&mut self, task: TaskId, priority: u8, id: ObjectId) -> bool {
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

    /// The task gives up what it has; true where somebody waits for it.
    fn give_up(&mut self, task: TaskId, id: ObjectId) -> bool {
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

    /// Would the task wait for itself in the end, or for more others than the kernel follows?
    fn is_deadlock(&self, task: TaskId, id: ObjectId) -> bool {
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

    /// The task, which waits for a mutex, is of another priority now: who is to be looked at next, and why?
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

/// Where a chain goes on.
pub(crate) enum Next {
    /// The owner may inherit another priority.
    Owner(TaskId),
    /// Nobody has the mutex: this one comes first now.
    Wake(TaskId),
}

impl<E: Engine> Sim<E> {
    pub(super) fn lock_mutex(&mut self, c: CpuId, task: TaskId, id: ObjectId) -> Then {
        let priority = self.k.tasks[task].rt_priority();
        let mutexes = &mut self.k.objects.mutexes;
        if mutexes.get(id).owner == Some(task) {
            return Then::GoOn;
        }
        self.k.charge_word(c, id.0);
        let mutexes = &mut self.k.objects.mutexes;
        if mutexes.get(id).inherits {
            return match mutexes.try_take(task, priority, id) {
                true => Then::GoOn,
                false => self.queue_up(c, task, id),
            };
        }
        let (mutex, priority) = (mutexes.get(id), self.k.tasks[task].policy.rt_priority());
        if mutex.owner.is_none() {
            mutex.owner = Some(task);
            return Then::GoOn;
        }
        mutex.enqueue(task, priority);
        self.k.charge_waiting(c, id.0, None);
        self.k.task(task).doing = Doing::Relock(id);
        self.tell_awaits(c, task, id);
        self.block(c, task)
    }

    /// `task_blocks_on_rt_mutex()`: the owner, and whoever that one waits for, becomes as urgent. Who would wait for itself
    /// waits for ever (`-EDEADLK`, upon which the C library's `pthread_mutex_lock()` does so).
    fn queue_up(&mut self, c: CpuId, task: TaskId, id: ObjectId) -> Then {
        let priority = self.k.tasks[task].rt_priority();
        self.syscall(c);
        let mutexes = &mut self.k.objects.mutexes;
        if mutexes.is_deadlock(task, id) {
            return self.give_up_cpu(c, task);
        }
        let (owner, first) = (mutexes.owner(id), mutexes.first(id));
        self.k.charge_waiting(c, id.0, owner);
        let mutexes = &mut self.k.objects.mutexes;
        mutexes.get(id).enqueue(task, priority);
        mutexes.ties.entry(task).or_default().awaited = Some(id);
        first.into_iter().for_each(|first| self.k.tell_spinner(first));
        self.k.this_cpu().stack.push(Frame::Rt(RtFrame::AwaitMutex { mutex: id }));
        let adjust = owner.map(|task| Frame::Rt(RtFrame::Adjust { task, depth: 0 }));
        self.k.this_cpu().stack.extend(adjust);
        Then::Leave
    }

    /// [`RtFrame::AwaitMutex`]: spins or blocks, unless the mutex has become free meanwhile.
    pub(crate) fn await_mutex(&mut self, c: CpuId, id: ObjectId) {
        let task = self.k.this_cpu().curr;
        let priority = self.k.tasks[task].rt_priority();
        if self.k.objects.mutexes.try_take(task, priority, id) {
            self.tell_awaits(c, task, id);
            return self.k.this_cpu().stack.push(Frame::Act);
        }
        if self.k.spins_on(task, id) {
            return self.spin(task, id);
        }
        self.k.task(task).doing = Doing::Relock(id);
        self.tell_awaits(c, task, id);
        self.give_up_cpu(c, task);
    }

    fn tell_awaits(&mut self, c: CpuId, task: TaskId, id: ObjectId) {
        let owner = self.k.objects.mutexes.owner(id).unwrap_or(TaskId::IDLE);
        self.k.tell(Class::LOCKS, c, What::Awaits { task, mutex: id.0, owner });
    }

    /// [`Frame::Relock`]: whoever has been woken takes its mutex, or takes it again after a condition.
    pub(super) fn relock(&mut self, c: CpuId, id: ObjectId) {
        let task = self.k.this_cpu().curr;
        if self.k.objects.mutexes.awaits(task, id) {
            return self.await_mutex(c, id);
        }
        if let Then::GoOn = self.lock_mutex(c, task, id) {
            self.tell_awaits(c, task, id);
            self.k.this_cpu().stack.push(Frame::Act);
        }
    }

    pub(super) fn unlock_mutex(&mut self, c: CpuId, task: TaskId, id: ObjectId) -> Then {
        let mutex = self.k.objects.mutexes.get(id);
        if mutex.owner == Some(task) && !mutex.waiters.is_empty() {
            self.syscall(c);
            self.k.this_cpu().stack.push(Frame::Act);
            self.release(task, id);
            return Then::Leave;
        }
        self.release(task, id);
        Then::GoOn
    }

    /// Gives the mutex back; its first waiter is woken. Where priorities are handed on the task first gives up what it had
    /// from that one (`mark_wakeup_next_waiter()`). Others' mutexes are left alone.
    pub(super) fn release(&mut self, task: TaskId, id: ObjectId) {
        let mutex = self.k.objects.mutexes.get(id);
        if mutex.owner != Some(task) {
            return;
        }
        let (first, inherits) = (mutex.top(), mutex.inherits);
        let c = self.k.cpus.at_hand();
        self.k.charge_word(c, id.0);
        if first.is_some() {
            self.k.charge_waking(c, id.0, first.into_iter());
        }
        let mutex = self.k.objects.mutexes.get(id);
        if !inherits && first.is_some() {
            mutex.waiters.remove(0);
        }
        self.k.objects.mutexes.give_up(task, id);
        let Some(first) = first else { return };
        let frames = &mut self.k.this_cpu().stack;
        match inherits {
            true => {
                let freed = RtFrame::Freed { mutex: id, first, waker: task };
                frames.extend([freed, RtFrame::Adjust { task, depth: 0 }].map(Frame::Rt));
            }
            false => frames.push(wake_of(first, task)),
        }
    }
}
