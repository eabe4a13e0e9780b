//! Picks the next real-time task (`pick_next_rt_entity()`): the first in the queue of the highest priority that has
//! tasks.

use crate::state::kernel::Kernel;
use crate::state::rt::queue::RtQueue;
use keel_abi::TaskId;

impl Kernel {
    /// Returns the next real-time task of the CPU that picks. Returns `None` while starved tasks are being served or
    /// real-time tasks are throttled.
    pub(crate) fn next_rt(&self) -> Option<TaskId> {
        let cpu = &self.cpus.this_cpu;
        let serves = cpu.server.is_serving() || cpu.fair_server.is_serving() && !cpu.fair.is_empty();
        cpu.rt.first().filter(|_| !serves && cpu.rt.is_ready())
    }
}

impl RtQueue {
    /// Returns the task that is first in line.
    pub(crate) fn first(&self) -> Option<TaskId> {
        self.queues.get(usize::from(self.highest()))?.front().copied()
    }
}
