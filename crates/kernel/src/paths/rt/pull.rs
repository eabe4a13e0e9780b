//! A CPU that drops to something less urgent either takes waiting tasks from elsewhere (`pull_rt_task()`), or asks the
//! overloaded CPUs, one after the other, to push (`RT_PUSH_IPI`). The machine's [`Pull`] says which.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::frame::rt::RtFrame;
use crate::state::machine::Pull;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, Instant};

impl<E: Engine> Sim<E> {
    /// [`RtFrame::Pull`]: from the next CPU where something more urgent waits.
    pub(crate) fn pull_rt(&mut self, c: CpuId, from: u32, in_pick: bool) {
        if self.k.machine.realtime.pull == Pull::Ask {
            if let Some(first) = self.k.overload.begin_round() {
                self.k.ask(c, first);
            }
            return;
        }
        let mut source = self.k.overload.next_from(from, c);
        while let Some(cpu) = source
            && self.k.cpus[cpu].rt.highest_pushable() <= self.k.cpus[c].rt.highest()
        {
            source = self.k.overload.next_from(cpu.0 + 1, c);
        }
        if let Some(source) = source {
            let both = Frame::Rt(RtFrame::PullFrom { source, in_pick });
            return self.k.this_cpu().stack.extend([both, Frame::Unlock { rq: c }]);
        }
        if in_pick {
            // The pick also sees tasks that came during the pull (`clear_tsk_need_resched()`).
            let cpu = self.k.this_cpu();
            (cpu.need_resched, cpu.resched_at) = (false, Instant::NEVER);
        }
    }

    /// [`RtFrame::PullFrom`]: with both locks, is there still something more urgent?
    pub(crate) fn pull_from(&mut self, c: CpuId, source: CpuId, in_pick: bool) {
        if !self.k.lock_two(c, c, source) {
            return self.k.this_cpu().stack.push(Frame::Rt(RtFrame::PullFrom { source, in_pick }));
        }
        self.k.this_cpu().lock.defers = true;
        let found = self.k.pullable(c, source).filter(|&task| self.k.is_worth_pulling(c, source, task));
        if let Some(task) = found {
            self.k.move_rt(self.vm.world(), c, task, c);
            self.k.resched(c, c);
        }
        let next = Frame::Rt(RtFrame::Pull { from: source.0 + 1, in_pick });
        self.k.this_cpu().stack.extend([next, Frame::Unlock { rq: source }]);
    }

    /// [`RtFrame::Asked`]: pushes what can be pushed, then asks the next.
    pub(crate) fn asked_to_push(&mut self, c: CpuId) {
        if self.k.this_cpu().rt.first_pushable().is_none() {
            return self.k.ask_next(c);
        }
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Rt(RtFrame::Asked));
        }
        self.k.this_cpu().lock.defers = true;
        let (finish, push) = (RtFrame::Finish { rq: c }, RtFrame::Push { rq: c, tries: 0 });
        self.k.this_cpu().stack.extend([RtFrame::AskNext, finish, push].map(Frame::Rt));
    }

    /// The step that pulls for `c`. When it is over, the path continues with `c` locked again.
    pub(crate) const fn pull_step(in_pick: bool) -> Frame {
        Frame::Rt(RtFrame::Pull { from: 0, in_pick })
    }
}
