//! Conditions: which tasks wait, and which are woken.

use crate::paths::sim::Sim;
use crate::state::frame::{Frame, wake_of};
use crate::state::objects::Waiter;
use crate::state::task::{Doing, State};
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::task::ObjectId;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    pub(super) fn wait_condition(
        &mut self,
        c: CpuId,
        task: TaskId,
        condition: ObjectId,
        mutex: ObjectId,
    ) -> Then {
        let futex = self.k.objects.condition_futex(condition);
        self.k.charge_word(c, futex);
        self.k.charge_waiting(c, futex, None);
        self.k.objects.conditions[condition.0 as usize].push_back(Waiter { task, mutex });
        self.block(c, task);
        self.release(task, mutex);
        Then::Leave
    }

    pub(super) fn signal(&mut self, c: CpuId, task: TaskId, condition: ObjectId, most: u32) -> Then {
        self.syscall(c);
        let waiters = &mut self.k.objects.conditions[condition.0 as usize];
        let mut woken = Vec::new();
        for _ in 0..most {
            let first = waiters.iter().position(|w| w.task != task);
            let Some(waiter) = first.and_then(|at| waiters.remove(at)) else { break };
            woken.push(waiter);
        }
        let futex = self.k.objects.condition_futex(condition);
        self.k.charge_word(c, futex);
        if !woken.is_empty() {
            self.k.charge_waking(c, futex, woken.iter().map(|waiter| waiter.task));
        }
        let blocks = self.k.tasks[task].state == State::Blocking;
        if !blocks {
            self.k.this_cpu().stack.push(Frame::Act);
        }
        for waiter in woken.into_iter().rev() {
            self.k.task(waiter.task).doing = Doing::Relock(waiter.mutex);
            self.k.this_cpu().stack.push(wake_of(waiter.task, task));
        }
        Then::Leave
    }
}
