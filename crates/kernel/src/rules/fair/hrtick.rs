//! Sets the high-resolution timer that ends a fair task's slice.

use crate::state::class::SchedClass;
use crate::state::fair::weight::run_time;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, Instant, Span};

/// The shortest time that the timer is set to (`hrtick_start()`).
const SHORTEST_NS: u64 = 10_000;

impl Kernel {
    /// After a task has joined: sets the timer unless it is already set (`hrtick_update()`).
    pub(super) fn start_hrtick(&mut self, rq: CpuId) {
        let cpu = &self.cpus[rq];
        if cpu.ticks.hrtick() == Instant::NEVER && self.class_of(cpu.curr) == SchedClass::Fair {
            self.set_hrtick(rq);
        }
    }

    /// Sets the timer to the end of the slice of the task that runs on `rq`, if other tasks wait there
    /// (`hrtick_start_fair()`).
    pub(super) fn set_hrtick(&mut self, rq: CpuId) {
        let is_shared = self.fair.settings.hrtick && self.cpus[rq].fair.queued() > 1;
        let Some(curr) = self.fair_curr(rq).filter(|_| is_shared) else { return };
        let entity = &self.fair.entities[curr];
        let left = entity.deadline - entity.vruntime;
        if left < 0 || !entity.on_rq {
            return;
        }
        let left_ns = run_time(left, entity.weight).max(SHORTEST_NS);
        let at = self.moment() + Span::from_ns(left_ns) + self.interrupt_latency(rq);
        let cpu = &mut self.cpus[rq];
        cpu.ticks.set_hrtick(at);
        if cpu.in_user && !cpu.is_idle() {
            let at = at.min(self.queue.cpu_at(rq));
            self.queue.set_cpu(rq, at);
        }
    }
}
