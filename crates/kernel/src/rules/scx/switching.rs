//! Determines with which flags a task enters or leaves the scheduler's class.

use crate::state::class::SchedClass;
use crate::state::flag;
use crate::state::kernel::Kernel;
use crate::state::task::Urgency;
use keel_abi::TaskId;
use keel_abi::scx::{deq, enq};
use keel_abi::task::Policy;

/// The core scheduler's flags for taking a task off its runqueue for a change and putting it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) off: u64,
    pub(crate) on: u64,
}

impl Kernel {
    /// Returns the flags of `__sched_setscheduler()`: a task returns to its old place if its priority stays the same,
    /// and goes before others if it drops.
    pub(crate) fn change_flags(&self, task: TaskId, to: Urgency) -> Flags {
        let t = &self.tasks[task];
        let (before, after) = (t.urgency().prio(t.nice), to.prio(t.nice));
        let moves = if before == after { 0 } else { deq::MOVE };
        let class = if t.class == self.class_of_urgency(to) { 0 } else { deq::CLASS };
        let off = deq::SAVE | flag::NOCLOCK | moves | class;
        Flags { off, on: off | if before < after { enq::HEAD } else { 0 } }
    }

    /// Returns the urgency that the task would have with this policy.
    pub(crate) fn urgency_with(&self, task: TaskId, policy: Policy) -> Urgency {
        Urgency { policy, boost: self.tasks[task].boost }
    }

    /// Returns whether the task waits or runs in a queue of a class above sched_ext.
    pub(crate) fn is_on_queue_above(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        t.is_on_rq() && t.class > SchedClass::Ext
    }
}
