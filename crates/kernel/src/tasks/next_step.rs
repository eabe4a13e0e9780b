//! A task continues its program, once its work is done and its CPU has nothing else to do. Which step of its program
//! comes next is in `take_steps` of this folder's `mod.rs`.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::task::Doing;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, Span, TaskId};

impl<E: Engine> Sim<E> {
    /// [`Frame::Act`] is due when the work is done; a task that is between steps takes the next one. Returns whether it
    /// may. This is the way back to user mode (`exit_to_user_mode_loop()`): kicks, interrupts and the switch to another
    /// task come first, and the task continues when it has the CPU again.
    #[inline(always)]
    pub(crate) fn may_act(&self) -> bool {
        !self.k.cpus.this_cpu.curr.is_idle() && !self.has_duty()
    }

    /// A step of the current task's program has taken time. Returns whether the task takes the next one at once:
    /// nothing else comes first, as in [`Sim::may_act`]. Otherwise, the loop sees to it.
    #[inline(always)]
    pub(super) fn acts_at_once(&mut self) -> bool {
        if !self.k.stays_first() {
            self.k.this_cpu().stack.push(Frame::Act);
            return false;
        }
        !self.has_duty()
    }

    /// The current task of `c`, which has nothing else to do, continues its program if its work is done. Returns for
    /// how long it works then, if it only works now, and the CPU still comes first.
    #[inline(never)]
    pub(crate) fn go_on(&mut self, c: CpuId) -> Option<Span> {
        let cpu = &*self.k.cpus.this_cpu;
        let curr = cpu.curr;
        let t = &self.k.tasks[curr];
        if t.doing != Doing::Steps && t.doing != Doing::Work(Span::ZERO) {
            return self.goes_on_otherwise(c, curr);
        }
        self.take_steps(c, curr)
    }

    /// Like `go_on` for a task that still does something, or was busy until a moment.
    #[inline(never)]
    fn goes_on_otherwise(&mut self, c: CpuId, curr: TaskId) -> Option<Span> {
        let now = self.k.this_cpu().clock;
        let t = self.k.task(curr);
        match t.doing {
            Doing::Until(until) if until <= now => {
                t.begins_steps(now);
                return self.take_any_steps(c, curr);
            }
            Doing::Until(_) | Doing::Work(_) | Doing::Steps => {}
            Doing::Relock(mutex) => {
                t.doing = Doing::Steps;
                self.k.this_cpu().stack.push(Frame::Relock { mutex });
            }
            Doing::Spin(mutex) => self.spin_again(curr, mutex),
        }
        None
    }
}
