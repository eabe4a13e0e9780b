//! Which of the scheduler's tasks a CPU can run without asking: the first of its local queue.
//!
//! `paths::who_runs_next` asks `ops.dispatch` where there is none.

use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// The first task of `c`'s local queue.
    #[inline]
    pub(crate) fn first_local(&self, c: CpuId) -> Option<TaskId> {
        self.queues.table.queue(self.queues.local(c)).first()
    }
}
