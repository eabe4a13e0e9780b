//! Semaphores: a post lets one wait pass, whichever comes first. Neither costs anything besides the wakeup: in a
//! workload made from a recording, the task's own work includes the cost.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::scx::wake;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// The wakeup by `waker` that a post causes, if a task waits.
    pub(super) fn wake_by_post(&mut self, waker: TaskId, semaphore: u32, sync: bool) -> Option<Frame> {
        let task = self.k.objects.semaphores.post(semaphore)?;
        let flags = wake::TTWU | if sync { wake::SYNC } else { 0 };
        Some(Frame::Wake { task, flags, waker })
    }

    pub(super) fn post(&mut self, task: TaskId, semaphore: u32, sync: bool) -> Then {
        let Some(wake) = self.wake_by_post(task, semaphore, sync) else { return Then::GoOn };
        self.k.this_cpu().stack.extend([Frame::Act, wake]);
        Then::Leave
    }

    pub(super) fn await_semaphore(&mut self, c: CpuId, task: TaskId, semaphore: u32) -> Then {
        match self.k.objects.semaphores.take(semaphore, task) {
            true => Then::GoOn,
            false => self.give_up_cpu(c, task),
        }
    }
}
