//! How paths are suspended, and what they may hold while suspended. Read this before you change a path.
//!
//! A path is a chain of steps: methods of [`Sim`], each of which ends by naming the next one. A step is never
//! interrupted. After it, and in a callback at each call that others can see, the CPU continues only while its clock is
//! before everything else that is due: other CPUs' events, and timers. Otherwise it leaves a [`Frame`], and the loop
//! resumes from that.
//!
//! A step ends in one of these ways:
//!
//! - [`Sim::go`]: continues directly. `go(Frame::Pick, |sim| sim.pick(c))` does the step now or leaves its frame.
//! - [`Sim::go_straight`]: the same after a step that took no time and scheduled no event, so that this CPU is still
//!   first.
//! - [`Sim::call`]: first runs a callback of the scheduler, which may take long; then continues like `go`.
//! - `if sim.may_go(|| frame) { step }`, and `may_go_straight` and `called` likewise: the same as `go`, `go_straight`
//!   and `call`, in the paths that every event takes.
//! - `stack.push(frame)`, or `extend` with the last one first: the loop does the step. This needs no closure and costs
//!   a little more.
//! - `stack.push(next)`, then [`Sim::start`]: the same as [`Sim::call`], but always leaves the frame of the next step.
//!   The frame must come first.
//! - `stack.push(next)`, then another path's step, called directly: that path is done first, and `next` follows when it
//!   is over. So `wake_activate` pushes [`Frame::Woken`] and then enqueues.
//! - `return true`, in steps that return whether the CPU stays first: the path is over, and since it asked last whether
//!   it may go on, it has taken no time and made nobody due. Then the loop does not ask again
//!   ([`Step::First`](crate::run::step::Step::First)). If in doubt, `false` is always right.
//! - [`Sim::look_again`]: waits for a change by others, and checks for it at intervals.
//! - `if !k.lock_rq(c, rq) { push(this step's own frame); return }`: waits for a lock. Once the CPU has the lock, the
//!   step starts again from its beginning, and `lock_rq` returns true at once. So take the lock before you change
//!   anything.
//!
//! **A path may hold these across a suspension:**
//!
//! | held | how | until |
//! | --- | --- | --- |
//! | runqueue locks | `lock_rq`: others wait | `unlock_rq`, [`Frame::Unlock`] or `finish_rq` of the same path |
//! | `cgroup_mutex` | `lock_cgroups` | `unlock_cgroups`, at the end of the path |
//! | BPF locks | the callback itself; while it has one, only taking a further resilient lock can suspend | its unlock or end |
//! | marks | `Task::busy`, `ops_state`, `deferred`; `Cpu::in_balance`, `leaving`: others check | the path clears them |
//!
//! A lock that one step takes and releases needs no suspension: `hold_rq` does both. Use `lock_rq` if the path keeps the
//! lock over several steps. If the kernel defers work to the end of the lock, as in a wakeup or while it balances, also
//! set `lock.defers`, and release the lock by `finish_rq`, which does that work. `unlock_rq` releases the lock at the
//! CPU's clock, without the costs of the current step. To release it after them, end the step with [`Frame::Unlock`].
//!
//! **It may not hold** locks of dispatch queues and futexes, or runqueue locks from `hold_rq` (they are taken and
//! released within a step), a borrow, or anything it has read. A frame contains ids and numbers. Others have run since
//! it was left, so the next step must check the task again: is it alive (its `state`; ids are never reused), on this CPU,
//! in this class, in that queue?
//!
//! To change what a path does:
//!
//! 1. Find the rule in `rules`, named as the kernel names it, and the path in `paths` that calls it. If the answer
//!    needs no callback and no other runqueue's lock, change only the rule: rules can't suspend.
//! 2. Otherwise add a step: a method of `Sim` beside its neighbours, a variant of its path's frame in `state/frame`
//!    with the ids that the step needs, and its line in `run/step`.
//! 3. End the step before it with `go` or `call` with the new frame and the new method. Both must stand for the same
//!    step. A frame may have several places that push it, and a step a faster copy for usual cases: look for both.
//! 4. Add a test to `crates/lab/tests/semantics`, with a scheduler of `tests/sim/semantics`
//!    (`cargo test -p keel-lab --test semantics`): paths have no tests without an engine.
//! 5. Test it with `--engine frames`, which leaves a frame after each step: the trace must be the same, byte for byte
//!    (`cargo run --release -p keel-lab --example same frames`, and the same without `frames`).

use crate::paths::callback::Begun;
use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use keel_abi::bpf::Engine;
use keel_abi::scx::Op;
use keel_abi::{CpuId, Instant, TaskId};

impl<E: Engine> Sim<E> {
    /// Continues with `step`, which is the step of `frame`, if the loop would return to it at once; otherwise leaves
    /// the frame for later. Most frames never reach the stack this way.
    #[inline(always)]
    pub(crate) fn go(&mut self, frame: Frame, step: impl FnOnce(&mut Self)) {
        debug_assert!(
            !self.k.this_cpu().pauses.is_parked(),
            "who is in line for a lock leaves a frame for it, and goes nowhere"
        );
        if self.k.stays_first() {
            step(self);
        } else {
            self.k.this_cpu().stack.push(frame);
        }
    }

    /// Like [`Sim::go`] for a caller that takes the step itself if this returns true. Paths of every event end their
    /// steps so: the step becomes part of the caller's code, and its frame is made only if it is left.
    #[inline(always)]
    pub(crate) fn may_go(&mut self, frame: impl FnOnce() -> Frame) -> bool {
        debug_assert!(!self.k.this_cpu().pauses.is_parked(), "who is in line for a lock goes nowhere");
        let stays = self.k.stays_first();
        if !stays {
            self.leave(frame);
        }
        stays
    }

    /// Like `may_go` if all costs of the step are on the clock, as after a callback that the scheduler has.
    #[inline(always)]
    pub(crate) fn may_go_settled(&mut self, frame: impl FnOnce() -> Frame) -> bool {
        let stays = self.k.stays_first_settled();
        if !stays {
            self.leave(frame);
        }
        stays
    }

    /// Like [`Sim::go_straight`] for a caller that takes the step itself if this returns true.
    #[inline(always)]
    pub(crate) fn may_go_straight(&mut self, frame: impl FnOnce() -> Frame) -> bool {
        let is_free = self.k.this_cpu().pauses.is_empty();
        match is_free {
            true => debug_assert!(self.k.is_first(), "the step made nobody due"),
            false => self.leave(frame),
        }
        is_free
    }

    /// Like `may_go_straight`. `goes_on` says that the path has already asked whether it may go on, and has since done
    /// nothing that could make a CPU pause.
    #[inline(always)]
    pub(crate) fn may_go_straight_knowing(&mut self, goes_on: bool, frame: impl FnOnce() -> Frame) -> bool {
        debug_assert!(!goes_on || self.goes_on());
        goes_on || self.may_go_straight(frame)
    }

    /// Returns whether the path may still go on, as when it last asked. For assertions.
    pub(crate) fn goes_on(&mut self) -> bool {
        let pauses = &self.k.this_cpu().pauses;
        !pauses.returns_to_loop() && !pauses.owes_dequeue() && self.k.is_first()
    }

    /// Like [`Sim::go`] at the end of a step that took no time, scheduled no event and has no call to make: then the
    /// CPU still comes first, as before that step.
    #[inline(always)]
    pub(crate) fn go_straight(&mut self, frame: Frame, step: impl FnOnce(&mut Self)) {
        if self.k.this_cpu().pauses.is_empty() {
            debug_assert!(self.k.is_first(), "the step made nobody due");
            step(self);
        } else {
            self.leave(|| frame);
        }
    }

    /// Leaves a frame for the loop.
    #[inline(always)]
    fn leave(&mut self, frame: impl FnOnce() -> Frame) {
        std::hint::cold_path();
        self.k.this_cpu().stack.push_made(frame);
    }

    /// Waits for a change by others: the step of `frame` checks for it every `ns`. While no other CPU comes first,
    /// there is nothing new to see, so the checks only take time.
    pub(crate) fn look_again(&mut self, c: CpuId, ns: u64, frame: Frame) {
        self.k.charge_ns(c, ns);
        while self.k.stays_first() {
            self.k.charge_ns(c, ns);
        }
        self.k.this_cpu().stack.push(frame);
    }

    /// Calls `op`, if the scheduler has it, and then continues like [`Sim::go`].
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
            Begun::Suspended => self.leave_call(|| frame),
        }
    }

    /// Like [`Sim::call`] for a caller that takes the step after it itself if this returns true.
    #[inline(always)]
    pub(crate) fn called(
        &mut self,
        c: CpuId,
        op: Op,
        (subject, args): (TaskId, &[u64]),
        frame: impl Fn() -> Frame,
    ) -> bool {
        if !self.k.has(op) {
            self.skips_callback();
            return self.may_go(frame);
        }
        self.called_known(c, op, (subject, args), frame)
    }

    /// Like `called` for a callback that the scheduler has.
    #[inline(always)]
    pub(crate) fn called_known(
        &mut self,
        c: CpuId,
        op: Op,
        (subject, args): (TaskId, &[u64]),
        frame: impl Fn() -> Frame,
    ) -> bool {
        match self.begin_known(c, op, subject, args) {
            Begun::Over => self.may_go_settled(frame),
            Begun::Suspended => {
                self.leave_call(frame);
                false
            }
        }
    }

    /// Leaves an unfinished call, and the frame that follows it, for the loop.
    #[inline(always)]
    fn leave_call(&mut self, frame: impl FnOnce() -> Frame) {
        std::hint::cold_path();
        self.k.this_cpu().stack.push_two(frame, || Frame::Resume);
    }
}

impl Kernel {
    /// Returns whether a CPU that has reasons to pause may take its next step if it comes first. It may not while it
    /// waits for a lock. If CPUs take turns, adds the wait for its turn to its costs.
    #[cold]
    #[inline(never)]
    pub(crate) fn may_step(&mut self) -> bool {
        let pauses = &self.cpus.this_cpu.pauses;
        let is_free = !pauses.is_parked();
        if is_free && pauses.takes_turns() {
            self.wait_for_turns(self.cpus.this_id());
        }
        is_free
    }

    /// Returns this CPU's clock, which shows all costs, if something else is due before or the queue is barred. If not,
    /// advances the simulation's time to the clock, but never back.
    #[inline(always)]
    pub(crate) fn catches_up(&mut self) -> Option<Instant> {
        let clock = self.cpus.this_cpu.clock;
        if !self.queue.comes_first(self.cpus.this_id(), clock) {
            return Some(clock);
        }
        self.come_to(clock);
        None
    }

    /// Adds the costs of the last step to the clock of this CPU, which may go on behind a bar. Returns whether
    /// nothing is due before; then this is like `catches_up`.
    #[inline(never)]
    pub(crate) fn catches_up_anyway(&mut self) -> bool {
        self.cpus.this_cpu.settle_costs();
        let is_first = self.is_first();
        if is_first {
            self.come_to(self.cpus.this_cpu.clock);
        }
        is_first
    }

    /// Advances the simulation's time to this CPU's clock, but never back.
    #[inline(always)]
    fn come_to(&mut self, clock: Instant) {
        if clock >= self.now {
            self.now = clock;
        } else {
            std::hint::cold_path();
            self.cpus.this_cpu.clock = self.now;
        }
    }

    /// Like `stays_first_settled`, but never changes the CPU's clock: false if that is behind the simulation's time.
    #[inline(always)]
    pub(crate) fn is_first_at_once(&mut self) -> bool {
        let clock = self.cpus.this_cpu.clock;
        let is_first = clock >= self.now && self.queue.is_before_all(clock);
        if is_first {
            self.now = clock;
        }
        is_first
    }

    /// Like `stays_first` for a CPU whose clock may be behind the simulation's time, and usually shows all costs.
    #[inline(always)]
    pub(crate) fn is_clearly_first(&mut self) -> bool {
        let cpu = &mut *self.cpus.this_cpu;
        if cpu.spent_ps < 1000 {
            let clock = cpu.clock;
            let is_first = self.queue.is_before_all(clock);
            if is_first {
                self.come_to(clock);
            }
            return is_first;
        }
        let (clock, rest_ps) = cpu.settled();
        let is_first = self.queue.is_before_all(clock);
        if is_first {
            (cpu.clock, cpu.spent_ps) = (clock, rest_ps);
            self.come_to(clock);
        }
        is_first
    }

    /// Returns whether a CPU that waits for no lock may take its next step in the middle of a path without being asked
    /// more: all others are due later, and it has no reason to pause, which would bar the queue. Whatever the answer, the
    /// costs of the last step are on its clock afterwards, unless the queue is barred: CPUs that take turns look at them
    /// first.
    #[inline(always)]
    pub(crate) fn stays_first(&mut self) -> bool {
        let (clock, rest_ps) = self.cpus.this_cpu.settled();
        let is_first = self.queue.is_before_all(clock);
        if is_first {
            debug_assert!(clock >= self.now, "a CPU that takes steps is the one that has come farthest");
            let cpu = &mut *self.cpus.this_cpu;
            (cpu.clock, cpu.spent_ps) = (clock, rest_ps);
            self.now = clock;
        } else if !self.queue.is_barred() {
            let cpu = &mut *self.cpus.this_cpu;
            (cpu.clock, cpu.spent_ps) = (clock, rest_ps);
        }
        is_first
    }

    /// Like `stays_first` if all costs of the last step are on the clock. The end of a callback that the scheduler has
    /// puts them there, and so does a lock that is taken last.
    #[inline(always)]
    pub(crate) fn stays_first_settled(&mut self) -> bool {
        let cpu = &*self.cpus.this_cpu;
        let clock = cpu.clock;
        let is_first = self.queue.is_before_all(clock);
        if is_first {
            debug_assert!(cpu.spent_ps < 1000, "its clock shows all costs");
            debug_assert!(clock >= self.now, "a CPU that takes steps is the one that has come farthest");
            self.now = clock;
        }
        is_first
    }

    /// Returns whether nothing else is due before this CPU's clock.
    pub(crate) fn is_first(&self) -> bool {
        self.queue.would_come_first(self.cpus.this_id(), self.cpus.this_cpu.clock)
    }
}
