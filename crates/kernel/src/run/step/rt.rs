//! The steps of the real-time class's paths.

use crate::paths::sim::Sim;
use crate::state::frame::rt::RtFrame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// Takes one step of a path of the real-time class.
    pub(crate) fn rt_step(&mut self, c: CpuId, frame: RtFrame) {
        match frame {
            RtFrame::Push { rq, tries } => self.push_rt(c, rq, tries),
            RtFrame::PushTo { rq, target, task, tries } => self.push_to(c, rq, target, task, tries),
            RtFrame::Pull { from, in_pick } => self.pull_rt(c, from, in_pick),
            RtFrame::PullFrom { source, in_pick } => self.pull_from(c, source, in_pick),
            RtFrame::Asked => self.asked_to_push(c),
            RtFrame::AskNext => self.k.ask_next(c),
            RtFrame::Adjust { task, depth } => self.adjust(task, depth),
            RtFrame::AdjustLock { task, rq, depth } => self.adjust_lock(c, task, rq, depth),
            RtFrame::Adjusted { task, rq, depth } => self.adjusted(task, rq, depth),
            RtFrame::AdjustNext { task, depth } => self.adjust_next(task, depth),
            RtFrame::AwaitMutex { mutex } => self.own_await(c, mutex),
            RtFrame::Freed { mutex, first, waker } => self.mutex_freed(mutex, first, waker),
            RtFrame::Replenish { from } => self.replenish(c, from),
            RtFrame::Finish { rq } => self.finish_rq(c, rq),
        }
    }
}
