//! Where a path is suspended, and what may be held meanwhile. Read this before you change a rule that can suspend.
//!
//! A path is a chain of steps: methods of [`Sim`], each of which ends by naming the next one. A step is never
//! interrupted. After it, and in a callback at each call that others can see, the CPU continues only while its clock is
//! before every other CPU's events. Otherwise it leaves a [`Frame`], and the loop resumes from that.
//!
//! A step ends in one of these ways:
//!
//! - [`Sim::go`]: straight on. `go(Frame::Pick, |sim| sim.pick(c))` does the step now or leaves its frame.
//! - [`Sim::call`]: a callback of the scheduler first, which may take long; then as `go`.
//! - `stack.push(frame)`, or `extend` with the last one first: the loop takes the step. This needs no closure and costs
//!   a little more.
//! - `if !k.lock_rq(c, rq) { push(this step's own frame); return }`: in line for a lock. The step is done again from its
//!   beginning once the CPU has the lock, so take the lock before you change anything.
//!
//! **What may be held across a suspension:**
//!
//! | held | how | until |
//! | --- | --- | --- |
//! | runqueue locks | `lock_rq`: others get in line | `unlock_rq`, [`Frame::Unlock`] or `finish_rq` of the same path |
//! | `cgroup_mutex` | `lock_cgroups` | `unlock_cgroups`, at the end of the path |
//! | locks of BPF | the callback itself; under them only a call for one more resilient lock suspends | its unlock, or its end |
//! | a mark on a task or CPU | `Task::busy`, `ops_state`, `deferred`; `Cpu::in_balance`, `leaving`: others look at it | the path takes it off |
//!
//! **What may not:** locks of dispatch queues and futexes, and runqueue locks by `pass_rq` (they are taken and given back
//! within a step), a borrow, or anything that was read. A frame holds ids and numbers. Others have run since it was left: the
//! next step looks at the task again. Does it still exist, is it on this CPU, in this class, in that queue?
//!
//! To change a rule that can suspend:
//!
//! 1. Find the rule in `rules`, named as the kernel names it, and the path in `paths` that calls it. If the answer
//!    needs no callback and no other runqueue's lock, change only the rule: rules can't suspend.
//! 2. Else add a step: a method of `Sim` beside its neighbours, a variant of its path's frame in `state/frame` with the ids
//!    that the step needs, and its line in `run/step`.
//! 3. End the step before it by `go` or `call` with the new frame and the new method. Both must mean the same step.
//! 4. Test it with `--engine frames`, which leaves a frame after each step: the trace must be the same, byte for byte
//!    (`cargo run --release -p keel-lab --example same frames`, and the same without `frames`).

use crate::paths::callback::Begun;
use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::kernel::{AfterSteps, Kernel};
use keel_abi::bpf::Engine;
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Continues with `step`, which is the step of `frame`, if the loop would return to it at once; otherwise leaves
    /// the frame for later. Most frames never reach the stack this way.
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

    /// Checks every `ns`, by the step of `frame`, for a change that others are to make. While no other CPU comes first
    /// there is nothing new to see, so the checks only take time.
    pub(crate) fn look_again(&mut self, c: CpuId, ns: u64, frame: Frame) {
        self.k.charge_ns(c, ns);
        while self.k.stays_first() && self.k.this_cpu().pending_dequeues.is_empty() {
            self.k.charge_ns(c, ns);
        }
        self.k.this_cpu().stack.push(frame);
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
    /// Adds the costs of the last step to `c`'s clock: may it take the next one? Not while another event is due before,
    /// nor while it queues for a lock.
    #[inline(always)]
    pub(crate) fn comes_next(&mut self) -> bool {
        !self.cpus.this_cpu.parked && self.is_first()
    }

    /// The same where it is known to be in no line.
    #[inline(always)]
    fn is_first(&mut self) -> bool {
        let (c, now) = (self.cpus.at_hand(), self.now);
        if self.turns.is_some() {
            self.wait_for_turns(c);
        }
        let cpu = &mut self.cpus.this_cpu;
        cpu.settle_costs();
        if !self.queue.comes_first(c, cpu.clock) {
            return false;
        }
        cpu.clock = cpu.clock.max(now);
        self.now = cpu.clock;
        true
    }

    /// The same in the middle of a path, where the CPU is known to be in no line and its clock to be ahead of all.
    #[inline(always)]
    fn stays_first(&mut self) -> bool {
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
