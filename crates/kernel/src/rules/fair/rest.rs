//! Measures how long CPUs stay idle.

use crate::state::kernel::Kernel;
use keel_abi::CpuId;

impl Kernel {
    /// When `c` goes idle, or becomes busy again with a task of any class.
    pub(crate) fn note_rest(&mut self, c: CpuId, is_idle: bool) {
        if self.fair.entities.is_empty() {
            return;
        }
        let at = self.cpus.this_cpu.clock;
        let rest = &mut self.fair.rest[c.index()];
        if !is_idle {
            return rest.ends(at);
        }
        if rest.since.is_none() {
            rest.begins(at);
        }
        self.count_idle_call(c);
        self.note_idle_core(c);
        self.enter_nohz(c);
    }
}
