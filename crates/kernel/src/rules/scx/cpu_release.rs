//! Decides whether to notify the scheduler that a higher class takes a CPU.

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Returns whether the scheduler has to be notified that `c` is taken from `prev`.
    #[inline]
    pub(crate) fn releases(&self, c: CpuId, prev: TaskId) -> bool {
        self.scx.has_cpu_preempt && !self.cpus[c].released && self.class_of(prev) == SchedClass::Ext
    }
}
