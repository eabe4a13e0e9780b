//! Measures how long CPUs stay idle.

use crate::state::kernel::Kernel;
use keel_abi::CpuId;

impl Kernel {
    /// When `c` goes idle, or becomes busy again with a task of any class.
    pub(crate) fn note_idle_time(&mut self, c: CpuId, is_idle: bool) {
        if self.fair.entities.is_empty() {
            return;
        }
        let at = self.cpus.this_cpu.clock;
        let idle = &mut self.fair.idle_times[c.index()];
        if !is_idle {
            return idle.end(at);
        }
        if idle.since.is_none() {
            idle.begin(at);
        }
        self.count_idle_call(c);
        self.note_idle_core(c);
        self.enter_nohz(c);
    }
}
