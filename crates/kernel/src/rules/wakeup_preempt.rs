//! Wakeup preemption: whether a task that joins a runqueue preempts the one that runs there (`wakeup_preempt()`,
//! `rq->next_class`). A task of a higher class takes the CPU; within one class, the class decides.

use crate::state::class::SchedClass;
use crate::state::cpu::Cpu;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Preempts the task that runs on `rq` if `task`, which has joined it, goes first (`wakeup_preempt()`). Tasks of
    /// sched_ext preempt each other only by slices. Returns the class of `task`.
    #[inline(always)]
    pub(crate) fn wakeup_preempt(&mut self, c: CpuId, rq: CpuId, task: TaskId) -> SchedClass {
        let class = self.tasks[task].class;
        let next = self.cpus[rq].next_class;
        if (class, next) != (SchedClass::Ext, SchedClass::Ext) {
            self.preempt_class(c, rq, task, class, next);
        }
        class
    }

    fn preempt_class(&mut self, c: CpuId, rq: CpuId, task: TaskId, class: SchedClass, next: SchedClass) {
        if class > next {
            if next == SchedClass::Ext && self.cpus[rq].nr_immed > 0 {
                self.schedule_reenqueue(c, rq, 0);
            }
            self.cpu(rq).next_class = class;
            self.resched(c, rq);
        } else if class == next && class == SchedClass::Rt {
            self.preempt_rt(c, rq, task);
        } else if class == next && class == SchedClass::Fair {
            self.preempt_fair(rq, task);
        } else if next > SchedClass::Ext {
            self.arm_servers(rq);
        }
    }

    /// Puts a task of a class above sched_ext on its CPU's queue of that class: before tasks of equal priority, or as a
    /// new one, if its class distinguishes that.
    pub(crate) fn enqueue_above(&mut self, task: TaskId, head: bool, is_new: bool) {
        match self.tasks[task].class {
            SchedClass::Fair => self.enqueue_fair(task, is_new),
            _ => self.enqueue_rt(task, head),
        }
    }

    /// Takes the task off that queue.
    pub(crate) fn dequeue_above(&mut self, task: TaskId) {
        match self.tasks[task].class {
            SchedClass::Fair => self.dequeue_fair(task),
            _ => self.dequeue_rt(task),
        }
    }
}

impl Cpu {
    /// Returns whether a task of a class above sched_ext waits for the CPU or runs there.
    #[inline]
    pub(crate) fn is_wanted_above(&self) -> bool {
        self.rt.is_ready() || !self.fair.is_empty()
    }
}
