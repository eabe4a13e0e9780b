//! Scheduling classes as far as one notices another (`sched_class_above()`, `wakeup_preempt()`,
//! `rq->next_class`): whoever is of a higher class takes the CPU.

use crate::kernel::Kernel;
use keel_abi::bpf::World;
use keel_abi::task::Policy;
use keel_abi::{CpuId, TaskId};

/// A class; higher ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum SchedClass {
    /// The idle tasks'.
    Idle,
    /// sched_ext's.
    Ext,
    /// Real-time tasks'.
    Rt,
    /// The stopper's, which pushes tasks away.
    Stop,
}

impl SchedClass {
    /// The class of a policy where the scheduler has taken all ordinary tasks over
    /// (`__setscheduler_class()`).
    pub(crate) const fn of(policy: Policy) -> Self {
        match policy {
            Policy::Other | Policy::Ext => Self::Ext,
            Policy::Fifo(_) | Policy::RoundRobin(_) => Self::Rt,
        }
    }
}

impl Kernel {
    /// The class of a task, or of the idle task.
    #[inline]
    pub(crate) fn class_of(&self, task: TaskId) -> SchedClass {
        if task.is_idle() { SchedClass::Idle } else { self.tasks[task].class }
    }

    /// A task has joined `rq`: must whoever runs there go (`wakeup_preempt()`)? Tasks of sched_ext preempt each other by
    /// slices alone.
    #[inline(always)]
    pub(crate) fn wakeup_preempt(&mut self, c: CpuId, rq: CpuId, task: TaskId) {
        let class = self.tasks[task].class;
        let next = self.cpus[rq].next_class;
        if (class, next) != (SchedClass::Ext, SchedClass::Ext) {
            self.preempt_class(c, rq, task, class, next);
        }
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
        } else if next == SchedClass::Rt {
            self.arm_server(rq);
        }
    }

    /// Policy, priority and class as BPF sees them.
    pub(crate) fn mirror_policy<W: World>(&self, world: &mut W, task: TaskId) {
        use crate::layout::task as field;
        let t = &self.tasks[task];
        let rt_priority = u32::from(t.policy.rt_priority());
        world.put(t.ea.offset(field::POLICY), &t.policy.number().to_le_bytes());
        world.put(t.ea.offset(field::RT_PRIORITY), &rt_priority.to_le_bytes());
        self.mirror_nice(world, task);
    }
}
