//! Pushes waiting tasks to CPUs that run something less urgent (`push_rt_tasks()`): after a wakeup that does not
//! preempt, and after a switch from one real-time task to another.
//!
//! This takes both runqueues' locks. This CPU's own is released first, and then both are taken in the order of their
//! CPUs (`double_lock_balance()` of a preemptible kernel), so every decision is checked again afterwards.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::frame::rt::RtFrame;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, TaskId};

/// The maximum number of attempts for one task (`RT_MAX_TRIES`).
const MAX_TRIES: u8 = 3;

impl<E: Engine> Sim<E> {
    /// After a switch to a real-time task on `c`: pushes tasks that wait there before the path continues.
    #[cold]
    pub(crate) fn push_after_switch(&mut self, c: CpuId) {
        let curr = self.k.this_cpu().curr;
        // Fair tasks get here too, while real-time tasks are throttled or the fair server runs.
        if self.k.class_of(curr) == SchedClass::Rt && self.k.this_cpu().rt.first_pushable().is_some() {
            self.k.this_cpu().stack.push(Frame::Rt(RtFrame::Push { rq: c, tries: 0 }));
        }
    }

    /// Runs [`RtFrame::Push`]: finds a CPU for the first pushable task of `rq`. The task stays if it should run here,
    /// or if no CPU is better. In the latter case, the next CPU whose priority drops will pull it.
    pub(crate) fn push_rt(&mut self, c: CpuId, rq: CpuId, tries: u8) {
        let Some(task) = self.k.cpus[rq].rt.first_pushable().filter(|_| tries < MAX_TRIES) else { return };
        if self.k.tasks[task].rt_priority() > self.k.priority_of(self.k.cpus[rq].curr) {
            return self.k.resched(c, rq);
        }
        if self.k.tasks[task].migration_disabled > 0 {
            return;
        }
        let Some(target) = self.k.find_lowest(c, task).filter(|&target| target != rq) else { return };
        let both = Frame::Rt(RtFrame::PushTo { rq, target, task, tries });
        self.k.this_cpu().stack.extend([both, Frame::Unlock { rq }]);
    }

    /// Runs [`RtFrame::PushTo`]: checks with both locks held that the task is still the first and the CPU still
    /// suitable.
    pub(crate) fn push_to(&mut self, c: CpuId, rq: CpuId, target: CpuId, task: TaskId, tries: u8) {
        if !self.k.lock_two(c, rq, target) {
            return self.k.this_cpu().stack.push(Frame::Rt(RtFrame::PushTo { rq, target, task, tries }));
        }
        self.k.cpu(rq).lock.defers = true;
        let is_first = self.k.cpus[rq].rt.first_pushable() == Some(task);
        let fits = is_first && self.k.may_use(task, target) && self.k.tasks[task].migration_disabled == 0;
        let again = if fits && self.k.cpus[target].rt.highest() < self.k.tasks[task].rt_priority() {
            self.k.move_rt(self.vm.world(), c, task, target);
            self.k.resched(c, target);
            Some(0)
        } else if fits {
            Some(tries + 1)
        } else {
            // If another task is first now, tries again with that one. If only this task has changed, gives up.
            (!is_first).then_some(0)
        };
        let again = again.map(|tries| Frame::Rt(RtFrame::Push { rq, tries }));
        self.k.this_cpu().stack.extend(again);
        self.k.this_cpu().stack.push(Frame::Unlock { rq: target });
    }
}
