//! The first waiter of a mutex with priority inheritance keeps its CPU while the owner runs on another
//! (`rtmutex_spin_on_owner()`, since Linux 5.15): until the mutex is free, the owner has lost its CPU, or a more urgent
//! waiter comes first. Then it takes the mutex, or sleeps after all.
//!
//! To the rest of the simulated kernel a spinner is working with no known end: ticks, interrupts and preemption affect
//! it like any task, and once preempted it is runnable, as in any preemptible kernel. Any change to what it spins on
//! notifies its CPU.

use crate::paths::sim::Sim;
use crate::state::frame::{Frame, wake_of};
use crate::state::task::Doing;
use keel_abi::TaskId;
use keel_abi::bpf::Engine;
use keel_abi::task::ObjectId;

impl<E: Engine> Sim<E> {
    /// The current task starts spinning.
    pub(super) fn spin(&mut self, task: TaskId, id: ObjectId) {
        self.k.odd_switches += 1;
        self.k.task(task).doing = Doing::Spin(id);
    }

    /// The spinner checks whether to continue.
    pub(crate) fn spin_again(&mut self, task: TaskId, id: ObjectId) {
        if self.k.spins_on(task, id) {
            return;
        }
        self.k.odd_switches -= 1;
        self.k.task(task).doing = Doing::Steps;
        self.k.this_cpu().stack.push(Frame::Relock { mutex: id });
    }

    /// [`RtFrame::Freed`](crate::state::frame::rt::RtFrame): the owner is back at its own priority. The task that was
    /// first when it released the mutex is spinning for it or is woken, unless it already has the mutex.
    pub(crate) fn mutex_freed(&mut self, id: ObjectId, first: TaskId, waker: TaskId) {
        if self.k.objects.mutexes.awaits(first, id) {
            self.k.notify_spinner(first);
            self.k.this_cpu().stack.push(wake_of(first, waker));
        }
    }
}
