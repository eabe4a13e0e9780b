//! Runs the callback functions of BPF timers.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use keel_abi::bpf::Engine;
use keel_abi::clocks::Sync;
use keel_abi::{CpuId, Instant};

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::RunBpfTimer`], unless the timer has been cancelled or restarted in the meantime.
    pub(crate) fn run_bpf_timer(&mut self, c: CpuId, timer: u32) {
        let now = self.k.now;
        let t = &mut self.k.timers.0[timer as usize];
        if t.due > now || self.k.scx.is_disabling() {
            return;
        }
        t.due = Instant::NEVER;
        t.running = true;
        let at = t.at;
        let (function, args) = (t.function, [t.map.0, t.key.0, t.value.0, 0, 0]);
        self.k.this_cpu().stack.push(Frame::BpfTimerDone { timer });
        self.k.sync_acquired(c, Sync::Timer(at.0));
        self.start_function(c, function, args);
    }
}
