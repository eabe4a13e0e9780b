//! Bypass mode, in which the kernel schedules without the scheduler (`SCX_RQ_BYPASSING`): since when it is on, and
//! which tasks have to be requeued.

use crate::state::kernel::Kernel;
use crate::state::scx::events::ScxEvent;
use keel_abi::scx::{SLICE_BYPASS_NS, SLICE_DFL_NS};
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

impl Kernel {
    /// Begins to enter or leave bypass mode, with the first CPU.
    pub(crate) fn begin_bypass(&mut self, c: CpuId, on: bool) {
        self.scx.slice_dfl_ns = if on { SLICE_BYPASS_NS } else { SLICE_DFL_NS };
        if on {
            self.scx.bypassed_since = Some(self.now);
            self.scx.events.count(ScxEvent::BypassActivate);
            self.tell(Class::BRIEF, c, What::Bypass { on });
        }
    }

    /// Completes leaving bypass mode, after the last CPU.
    pub(crate) fn end_bypass(&mut self, c: CpuId) {
        if let Some(since) = self.scx.bypassed_since.take() {
            let spent = self.now.since(since);
            self.counters.bypass_time += spent;
            self.scx.events.add(ScxEvent::BypassDuration, spent.as_ns());
            self.tell(Class::BRIEF, c, What::Bypass { on: false });
        }
    }

    /// Counts the time in bypass mode up to the end of the run.
    pub(crate) fn count_bypass(&mut self) {
        if let Some(since) = self.scx.bypassed_since {
            self.counters.bypass_time += self.now.since(since);
            self.scx.bypassed_since = Some(self.now);
        }
    }

    /// Returns the scheduler's tasks that wait on `rq` (`rq->scx.runnable_list`), in the order in which they began to
    /// wait.
    pub(crate) fn waiting_on(&self, rq: CpuId) -> Vec<TaskId> {
        let cpu = &self.cpus[rq];
        if cpu.nr_running == cpu.rt.len() + cpu.fair.len() + cpu.fair.limbo() {
            return Vec::new();
        }
        let waits = |&task: &TaskId| {
            let t = &self.tasks[task];
            t.cpu == rq && t.queued && !t.on_cpu
        };
        let mut found: Vec<TaskId> = self.tasks.ids().filter(waits).collect();
        found.sort_by_key(|&task| (self.tasks[task].runnable_at, task));
        found
    }
}
