//! What follows when a real-time task has joined a runqueue.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::frame::rt::RtFrame;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// After a task was enqueued on `rq`, which is locked: pushes it, or another that waits there, to another CPU if
    /// that is better. Then releases the lock.
    #[cold]
    pub(crate) fn woken_rt(&mut self, c: CpuId, task: TaskId, rq: CpuId) {
        if !self.k.pushes_woken(rq, task) || self.k.class_of(task) != SchedClass::Rt {
            return self.finish_rq(c, rq);
        }
        let push = RtFrame::Push { rq, tries: 0 };
        self.k.this_cpu().stack.extend([RtFrame::Finish { rq }, push].map(Frame::Rt));
    }
}
