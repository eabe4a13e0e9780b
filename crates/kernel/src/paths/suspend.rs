//! Where a path of the kernel can be suspended.

use crate::paths::callback::Begun;
use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::kernel::AfterSteps;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::TaskId;
use keel_abi::bpf::Engine;
use keel_abi::scx::Op;

impl<E: Engine> Sim<E> {
    /// Goes straight on with `step`, which is what `frame` stands for, where the loop would come
    /// back to it at once; else leaves the frame for later. Saves most frames their way through
    /// the stack.
    #[inline(always)]
    pub(crate) fn go(&mut self, frame: Frame, step: impl FnOnce(&mut Self)) {
        debug_assert!(
            !self.k.this_cpu().parked,
            "who is in line for a lock leaves a frame for it, and goes nowhere"
        );
        if self.k.stays_first() && self.k.this_cpu().pending_dequeues.is_empty() {
            step(self);
        } else {
            self.k.this_cpu().stack.push(frame);
        }
    }

    /// Calls `op` back, if the scheduler has it, and then goes on as [`Sim::go`] does.
    #[inline(always)]
    pub(crate) fn call(
        &mut self,
        c: CpuId,
        op: Op,
        (subject, args): (TaskId, &[u64]),
        frame: Frame,
        step: impl FnOnce(&mut Self),
    ) {
        match self.begin(c, op, subject, args) {
            Begun::Over => self.go(frame, step),
            Begun::Suspended => self.k.this_cpu().stack.extend([frame, Frame::Resume]),
        }
    }
}

impl Kernel {
    /// The same in the middle of a path, where the CPU is known to be in no line and its clock to be ahead of all.
    #[inline(always)]
    pub(crate) fn stays_first(&mut self) -> bool {
        match self.after_steps {
            AfterSteps::Nothing => {}
            AfterSteps::Turns => self.wait_for_turns(self.cpus.at_hand()),
            AfterSteps::Loop => return false,
        }
        let cpu = &mut *self.cpus.this_cpu;
        cpu.settle_costs();
        let clock = cpu.clock;
        debug_assert!(clock >= self.now, "a CPU that takes steps is the one that has come farthest");
        let is_first = self.queue.comes_first(self.cpus.at_hand(), clock);
        if is_first {
            self.now = clock;
        }
        is_first
    }
}
