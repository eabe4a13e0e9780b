//! What tasks did on their own behalf, for replays ([`Class::ACTS`]): the CPU time of their own that they used, the
//! tasks that they woke, when they began to wait.
//!
//! A task's own time is its work and the cost of its steps. Scheduling costs (wakeups, switches, ticks, interrupts,
//! callbacks) are not its own: a replay is charged for them again.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use crate::state::task::State;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Act, Class, Request};

impl<E: Engine> Sim<E> {
    /// Takes a step that the task has asked for: its costs are the task's own. Emits what the task did with it.
    #[inline]
    pub(super) fn own_step<T>(&mut self, c: CpuId, task: TaskId, step: impl FnOnce(&mut Self) -> T) -> T {
        if !self.k.out.wants(Class::ACTS) {
            return step(self);
        }
        self.k.not_own_ps = 0;
        let (before_ps, tasks) = (self.k.this_cpu().spent_ps, self.k.tasks.len());
        let ended = self.k.tasks[task].state == State::Exiting;
        let then = step(self);
        let not_own_ps = std::mem::take(&mut self.k.not_own_ps);
        let charged_ps = self.k.this_cpu().spent_ps.saturating_sub(before_ps + not_own_ps);
        let own = &mut self.k.task(task).own;
        own.kernel_ps += charged_ps;
        own.has_stepped = true;
        if !ended {
            self.emit_step(c, task, tasks);
        }
        then
    }

    /// Like [`Sim::own_step`], for a task that has its CPU and takes no step of its program.
    pub(crate) fn own_relock(&mut self, c: CpuId, mutex: keel_abi::task::ObjectId) {
        let task = self.k.this_cpu().curr;
        self.own_step(c, task, |sim| sim.relock(c, mutex));
    }

    /// Like `own_relock` for a task that is about to wait for a mutex with priority inheritance.
    pub(crate) fn own_await(&mut self, c: CpuId, mutex: keel_abi::task::ObjectId) {
        let task = self.k.this_cpu().curr;
        self.own_step(c, task, |sim| sim.await_mutex(c, mutex));
    }

    /// A step asks for a change, which is emitted when the step is over.
    pub(super) fn asks(&mut self, request: impl FnOnce(&Kernel) -> Request) {
        if self.k.out.wants(Class::ACTS) {
            self.k.asked = Some(request(&self.k));
        }
    }

    fn emit_step(&mut self, c: CpuId, task: TaskId, tasks: usize) {
        if let Some(request) = self.k.asked.take() {
            let runs_for = matches!(request, Request::RunFor(_));
            self.k.emit_asks(c, task, request);
            self.k.task(task).own.runs_for = runs_for;
            return;
        }
        let act = match self.k.tasks[task].state {
            State::Exiting => Some(Act::Exits),
            State::Blocking => match self.k.task(task).sleeps_until.take() {
                Some((until, timer)) => Some(Act::Sleeps { until, timer }),
                None => Some(Act::Waits),
            },
            _ if self.k.tasks.len() > tasks => {
                let child = TaskId(tasks as u32);
                Some(Act::Forks { child, process: self.k.leader_of(child) == child })
            }
            _ => (self.k.cpus.this_cpu.stack.last() == Some(&Frame::Yield)).then_some(Act::Yields),
        };
        match act {
            Some(act) => self.k.emit_act(c, task, act),
            // Between two spells of work or kernel time the task may lose its CPU: each is emitted separately.
            None if self.comes_out(task) => self.k.emit_worked(c, task),
            None => {}
        }
    }

    /// Emits that a task that was created asleep sleeps.
    pub(super) fn emit_sleep(&mut self, c: CpuId, task: TaskId) {
        if let Some((until, timer)) = self.k.task(task).sleeps_until.take() {
            self.k.emit_act(c, task, Act::Sleeps { until, timer });
        }
    }

    fn comes_out(&self, task: TaskId) -> bool {
        self.k.tasks[task].doing.is_work() || self.k.cpus.this_cpu.stack.last() == Some(&Frame::Act)
    }
}
