//! Mutexes between threads: taken and released in user mode if no task waits, otherwise with the kernel's help
//! ([futexes](crate::state::objects::futex), which has the costs).
//!
//! The waiters of a plain mutex are woken one at a time, real-time tasks first by priority, then in order of arrival; a
//! woken task tries again, and may find that another was faster (`futex_wake()`). A mutex with priority inheritance
//! (`PTHREAD_PRIO_INHERIT`) goes to its most urgent waiter, unless an even more urgent task arrives before the waiter
//! runs. While the waiter waits, the owner is as urgent as it is (`rt_mutex_slowlock()`, `rt_mutex_slowunlock()`); the
//! waiter may spin ([`crate::rules::spinners`]).

use crate::paths::sim::Sim;
use crate::state::frame::rt::RtFrame;
use crate::state::frame::{Frame, wake_of};
use crate::state::task::Doing;
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::task::ObjectId;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

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
        self.emit_awaits(c, task, id);
        self.block(c, task)
    }

    /// `task_blocks_on_rt_mutex()`: the owner becomes as urgent, and so does any owner that it waits for in turn. A
    /// task that would wait for itself waits forever (`-EDEADLK`, after which the C library's `pthread_mutex_lock()`
    /// does so).
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
        first.into_iter().for_each(|first| self.k.notify_spinner(first));
        self.k.this_cpu().stack.push(Frame::Rt(RtFrame::AwaitMutex { mutex: id }));
        let adjust = owner.map(|task| Frame::Rt(RtFrame::Adjust { task, depth: 0 }));
        self.k.this_cpu().stack.extend(adjust);
        Then::Leave
    }

    /// [`RtFrame::AwaitMutex`]: spins or blocks, unless the mutex has become free in the meantime.
    pub(crate) fn await_mutex(&mut self, c: CpuId, id: ObjectId) {
        let task = self.k.this_cpu().curr;
        let priority = self.k.tasks[task].rt_priority();
        if self.k.objects.mutexes.try_take(task, priority, id) {
            self.emit_awaits(c, task, id);
            return self.k.this_cpu().stack.push(Frame::Act);
        }
        if self.k.spins_on(task, id) {
            return self.spin(task, id);
        }
        self.k.task(task).doing = Doing::Relock(id);
        self.emit_awaits(c, task, id);
        self.give_up_cpu(c, task);
    }

    fn emit_awaits(&mut self, c: CpuId, task: TaskId, id: ObjectId) {
        let owner = self.k.objects.mutexes.owner(id).unwrap_or(TaskId::IDLE);
        self.k.tell(Class::LOCKS, c, What::Awaits { task, mutex: id.0, owner });
    }

    /// [`Frame::Relock`]: a woken task takes its mutex, or takes it again after a condition.
    pub(super) fn relock(&mut self, c: CpuId, id: ObjectId) {
        let task = self.k.this_cpu().curr;
        if self.k.objects.mutexes.awaits(task, id) {
            return self.await_mutex(c, id);
        }
        if let Then::GoOn = self.lock_mutex(c, task, id) {
            self.emit_awaits(c, task, id);
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

    /// Releases the mutex and wakes its first waiter. With priority inheritance the task first gives up the priority
    /// that it inherited from that waiter (`mark_wakeup_next_waiter()`). Does nothing if another task owns the mutex.
    pub(super) fn release(&mut self, task: TaskId, id: ObjectId) {
        let mutex = self.k.objects.mutexes.get(id);
        if mutex.owner != Some(task) {
            return;
        }
        let (first, inherits) = (mutex.top(), mutex.inherits);
        let c = self.k.cpus.this_id();
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
