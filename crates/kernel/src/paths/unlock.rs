//! Releasing a runqueue's lock.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// [`Frame::Unlock`]. Returns whether the CPU [stays first](crate::run::step::Step::First).
    #[inline(never)]
    pub(crate) fn unlock(&mut self, c: CpuId, rq: CpuId) -> bool {
        self.k.unlock_rq_here(c, rq) && self.k.this_cpu().pauses.is_empty()
    }

    /// Does the deferred work before a runqueue's lock is released.
    #[inline(always)]
    pub(crate) fn finish_rq(&mut self, c: CpuId, rq: CpuId) {
        if self.k.scx.needs_slow_path {
            return self.finish_rare(c, rq);
        }
        self.k.run_deferred(self.vm.world(), c, rq);
        self.go(Frame::Unlock { rq }, |sim| sim.k.unlock_rq(c, rq));
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn finish_rare(&mut self, c: CpuId, rq: CpuId) {
        self.k.run_deferred(self.vm.world(), c, rq);
        if self.k.cpus[rq].reenqueue.is_some() {
            let local = Frame::ReenqueueLocal { rq, times: 0 };
            return self.k.this_cpu().stack.extend([Frame::Reenqueued { rq }, local]);
        }
        self.k.this_cpu().stack.push(Frame::Unlock { rq });
    }
}
