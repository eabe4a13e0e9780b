//! Reloads a scheduler: if the scheduler or the kernel requests it in the exit code (`SCX_ECODE_ACT_RESTART`), the
//! user-space half loads the object again and attaches it. In between, the tasks run in the fair class.
//!
//! The owner of the engine recreates the object's world. This module is the kernel's part between two schedulers.

use crate::paths::sim::Sim;
use crate::state::cpu::Irq;
use crate::state::cpus::BOOT_CPU;
use crate::state::frame::Frame;
use crate::state::scx::Phase;
use crate::state::scx::events::ScxEvent;
use crate::state::setup::{Scheduler, SetupError, UserProgram, refuse};
use keel_abi::bpf::Engine;
use keel_abi::scx::{Op, SLICE_BYPASS_NS};
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Class, What};

impl<E: Engine> Sim<E> {
    /// Requests that a scheduler is reloaded after this time if its exit code asks for it:
    /// [`run_until`](Self::run_until) then returns [`State::Detached`](crate::run::main_loop::State::Detached).
    pub fn restart_after(&mut self, after: Span) {
        self.k.again.after = Some(after);
    }

    /// Requests that a user-space program outside the run reloads a scheduler whose exit code asks for it, at a time of
    /// the program's choice.
    pub fn restart_by_program(&mut self) {
        self.k.again.by_program = true;
    }

    /// Continues the run after user space has handled [`State::Detached`](crate::run::main_loop::State::Detached).
    pub fn answered(&mut self) {
        self.k.again.is_due = false;
    }

    /// Returns how often the scheduler has been reloaded.
    pub fn restarts(&self) -> u32 {
        self.k.again.times.len() as u32
    }

    /// Attaches a scheduler as [`Sim::attach_again`] does, but while [`Sim::is_between`].
    ///
    /// # Errors
    /// Fails if the kernel rejects the scheduler.
    pub fn attach_now(&mut self, scheduler: &Scheduler) -> Result<(), SetupError> {
        self.k.again.is_due = true;
        let attached = self.attach_again(scheduler, Vec::new());
        self.k.again.is_due = false;
        attached
    }

    /// Returns whether no scheduler is attached now, but one will be.
    pub fn is_between(&self) -> bool {
        self.k.scx.is_gone() && self.k.again.is_awaited()
    }

    /// Attaches a scheduler to the machine in its current state. Call this only after
    /// [`State::Detached`](crate::run::main_loop::State::Detached). The engine's maps must be new.
    ///
    /// # Errors
    /// Fails if the kernel rejects the scheduler.
    pub fn attach_again(
        &mut self,
        scheduler: &Scheduler,
        programs: Vec<UserProgram>,
    ) -> Result<(), SetupError> {
        assert!(self.k.again.is_due, "a scheduler is attached where none is");
        refuse(scheduler)?;
        self.k.again.is_due = false;
        self.k.again.awaited = false;
        self.k.again.times.push(self.k.now);
        self.k.exit = None;
        self.k.watch_calls();
        self.k.blamed = None;
        self.k.renew_scheduler(scheduler, programs);
        let now = self.k.now;
        self.k.interrupt(BOOT_CPU, now, Irq::Attach);
        Ok(())
    }

    /// Runs [`Frame::Attach`]: user space runs its programs first, and then the kernel begins to enable the scheduler.
    pub(crate) fn run_before_enabling(&mut self) {
        self.k.this_cpu().stack.extend([Frame::BeginEnable, Frame::TraceReg { nth: 0 }]);
        let once = (0..self.k.programs.len() as u32).filter(|&p| self.k.programs[p as usize].every.is_none());
        let once: Vec<Frame> = once.map(|program| Frame::RunProgram { program }).collect();
        self.k.this_cpu().stack.extend(once.into_iter().rev());
    }

    /// Runs [`Frame::BeginEnable`].
    pub(crate) fn enable_again(&mut self, c: CpuId) {
        self.k.scx.phase = Phase::Enabling;
        self.k.scx.slice_dfl_ns = SLICE_BYPASS_NS;
        self.k.scx.bypassed_since = Some(self.k.now);
        self.k.scx.events.count(ScxEvent::BypassActivate);
        self.k.tell(Class::BRIEF, c, What::Bypass { on: true });
        self.k.give_cids();
        self.k.this_cpu().stack.push(Frame::Inited);
        self.start(c, Op::Init, TaskId::IDLE, &[]);
    }
}
