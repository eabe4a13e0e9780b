//! `scx_bpf_reenqueue_local()`: a local queue's tasks go back to the scheduler.
//!
//! Asynchronous: it happens once the callback's runqueue lock has been given back, as by the kernel's irq_work. Where
//! the kernel is about to end a wakeup or a pick it does it just before giving the lock back instead.

use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::sim::Sim;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;
use keel_abi::scx::enq;

impl Kernel {
    /// Notes the local queue of the runqueue that `c` has locked, or else of its own
    /// (`scx_bpf_dsq_reenq()`).
    pub(crate) fn note_reenqueue(&mut self, c: CpuId) {
        if self.scx.bypassing {
            return;
        }
        let subject = self.cpus.me.callback.subject;
        let rq = if subject.is_idle() { c } else { self.tasks[subject].cpu };
        let rq = if self.cpus[rq].lock.holder == Some(c) { rq } else { c };
        let noted = &mut self.me().reenqueues;
        if !noted.contains(&rq) {
            noted.push(rq);
        }
    }
}

impl<E: Engine> Sim<E> {
    /// [`Frame::Reenqueue`]: `reenq_local()` takes all tasks out first, so that none is met twice.
    pub(crate) fn reenqueue(&mut self, c: CpuId, rq: CpuId) {
        if !self.k.lock_rq(c, rq) {
            return self.k.me().stack.push(Frame::Reenqueue { rq });
        }
        self.k.me().stack.push(Frame::Reenqueued { rq });
        if self.k.scx.bypassing {
            return;
        }
        let mut tasks = Vec::new();
        while let Some(task) = self.k.first_local(rq) {
            self.k.leave_queue(task);
            tasks.push(Frame::Enqueue { task, enq_flags: enq::REENQ });
        }
        self.k.me().stack.extend(tasks.into_iter().rev());
    }

    /// [`Frame::Reenqueued`]: deferred moves are done, the lock is given back.
    pub(crate) fn reenqueued(&mut self, c: CpuId, rq: CpuId) {
        self.k.run_deferred(self.vm.world(), c, rq);
        self.go(Frame::Unlock { rq }, |sim| sim.k.unlock_rq(c, rq));
    }
}
