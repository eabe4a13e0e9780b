//! A CPU whose priority drops either pulls waiting tasks from other CPUs (`pull_rt_task()`), or asks the overloaded
//! CPUs, one after the other, to push theirs (`RT_PUSH_IPI`). The machine's [`Pull`] selects which.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::frame::rt::RtFrame;
use crate::state::machine::Pull;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, Instant};

impl<E: Engine> Sim<E> {
    /// Runs [`RtFrame::Pull`]: pulls from the next CPU where a more urgent task waits.
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
            // The pick also sees tasks that arrived during the pull (`clear_tsk_need_resched()`).
            let cpu = self.k.this_cpu();
            (cpu.need_resched, cpu.resched_at) = (false, Instant::NEVER);
        }
    }

    /// Runs [`RtFrame::PullFrom`]: checks again with both locks held, and pulls.
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

    /// Runs [`RtFrame::Asked`]: pushes what can be pushed, then asks the next CPU.
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

    /// Returns the step that pulls for `c`. After it, the path continues with `c` locked again.
    pub(crate) const fn pull_step(in_pick: bool) -> Frame {
        Frame::Rt(RtFrame::Pull { from: 0, in_pick })
    }
}
