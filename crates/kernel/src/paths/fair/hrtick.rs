//! The high-resolution timer that ends slices exactly (`HRTICK`, on by default since Linux 7.1).
//!
//! It is armed when a task begins to run while others wait, and when the first other task arrives. It is not armed when
//! a pick lets the running task continue; the slice then ends at a tick.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, Instant};

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::Hrtick`]: the slice of the running task has expired (`hrtick()`, `entity_tick()`).
    pub(crate) fn hrtick(&mut self, c: CpuId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Hrtick);
        }
        self.k.this_cpu().ticks.set_hrtick(Instant::NEVER);
        let timer_ns = self.k.machine.costs.timer_ns;
        self.k.charge_ns(c, timer_ns);
        let curr = self.k.this_cpu().curr;
        if self.k.class_of(curr) == SchedClass::Fair {
            self.k.update_curr(self.vm.world(), c);
            self.k.resched(c, c);
        }
        self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
    }
}
