//! Queueing, preemption and turns of real-time tasks.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::frame::rt::RtFrame;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// A task of the class has joined `rq`, which is locked. This task, or another that waits there, may be pushed to
    /// another CPU at once; then the lock is released.
    #[cold]
    pub(crate) fn woken_rt(&mut self, c: CpuId, task: TaskId, rq: CpuId) {
        if !self.k.pushes_woken(rq, task) || self.k.class_of(task) != SchedClass::Rt {
            return self.finish_rq(c, rq);
        }
        let push = RtFrame::Push { rq, tries: 0 };
        self.k.this_cpu().stack.extend([RtFrame::Finish { rq }, push].map(Frame::Rt));
    }
}
