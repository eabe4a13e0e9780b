//! A scheduler that is loaded again: because it or the kernel asked for that in its exit code
//! (`SCX_ECODE_ACT_RESTART`), its user-space half loads the object again and attaches it, while the tasks go on in the
//! fair class.
//!
//! The owner of the engine recreates the object's world; what is here is the kernel between two schedulers.

use crate::sim::Sim;
use crate::state::bpf::iter::Cursors;
use crate::state::bpf::res_spin::ResLocks;
use crate::state::bpf::spin::SpinLocks;
use crate::state::cpu::Irq;
use crate::state::cpus::BOOT_CPU;
use crate::state::exit::Exit;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use crate::state::machine::PERF_ONE;
use crate::state::scx::{Phase, Scx};
use crate::state::setup::{Scheduler, SetupError, UserProgram, refuse};
use crate::state::timer_number::timer_number;
use keel_abi::bpf::Engine;
use keel_abi::scx::{ExitKind, Op, SLICE_BYPASS_NS, SLICE_DFL_NS, ecode, ops_flags};
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Class, What};

/// So many times within [`WINDOW`] a scheduler is loaded again, as `keel run` does.
const MOST: usize = 5;

const WINDOW: Span = Span::from_ms(60_000);

impl<E: Engine> Sim<E> {
    /// From now on a scheduler whose end asks for it is to be loaded again so long after:
    /// [`run_until`](Self::run_until) then says [`State::Detached`](crate::sim::State::Detached).
    pub fn restart_after(&mut self, after: Span) {
        self.k.again.after = Some(after);
    }

    /// From now on a scheduler whose end asks for it is loaded again by a program of user space beside the run, in its own
    /// time.
    pub fn restart_by_program(&mut self) {
        self.k.again.by_program = true;
    }

    /// What user space wanted ([`State::Detached`](crate::sim::State::Detached)) was done, and the run goes on.
    pub fn answered(&mut self) {
        self.k.again.is_due = false;
    }

    /// How many times it was.
    pub fn restarts(&self) -> u32 {
        self.k.again.times.len() as u32
    }

    /// As [`Sim::attach_again`], while [`Sim::is_between`].
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn attach_now(&mut self, scheduler: &Scheduler) -> Result<(), SetupError> {
        self.k.again.is_due = true;
        let attached = self.attach_again(scheduler, Vec::new());
        self.k.again.is_due = false;
        attached
    }

    /// Is there no scheduler now, but will be one?
    pub fn is_between(&self) -> bool {
        self.k.scx.is_gone() && self.k.again.is_awaited()
    }

    /// Attaches a scheduler to the machine as it is now; after [`State::Detached`](crate::sim::State::Detached) alone. The
    /// engine's maps are new.
    ///
    /// # Errors
    /// The kernel refuses it.
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
        self.k.blamed = None;
        self.k.renew_scheduler(scheduler, programs);
        let now = self.k.now;
        self.k.interrupt(BOOT_CPU, now, Irq::Attach);
        Ok(())
    }

    /// [`Frame::Attach`]: what user space runs before; then the kernel begins.
    pub(crate) fn run_before_enabling(&mut self) {
        self.k.this_cpu().stack.extend([Frame::BeginEnable, Frame::TraceReg { nth: 0 }]);
        let once = (0..self.k.programs.len() as u32).filter(|&p| self.k.programs[p as usize].every.is_none());
        let once: Vec<Frame> = once.map(|program| Frame::RunProgram { program }).collect();
        self.k.this_cpu().stack.extend(once.into_iter().rev());
    }

    /// [`Frame::BeginEnable`].
    pub(crate) fn enable_again(&mut self, c: CpuId) {
        self.k.scx.phase = Phase::Enabling;
        self.k.scx.slice_dfl_ns = SLICE_BYPASS_NS;
        self.k.scx.bypassed_since = Some(self.k.now);
        self.k.tell(Class::CORE, c, What::Bypass { on: true });
        self.k.this_cpu().stack.push(Frame::Inited);
        self.start(c, Op::Init, TaskId::IDLE, &[]);
    }
}

impl Kernel {
    /// The scheduler is gone: will it be back?
    pub(super) fn comes_again(&mut self) -> bool {
        if self.again.by_program {
            self.again.awaited = self.exit.as_ref().is_some_and(wants_restart);
            return self.again.awaited;
        }
        let now = self.now;
        let (Some(after), Some(exit)) = (self.again.after, &self.exit) else { return false };
        let recent = self.again.times.iter().filter(|&&at| now.since(at) < WINDOW).count();
        if !wants_restart(exit) || recent >= MOST {
            return false;
        }
        self.again.awaited = true;
        self.queue.push(now + after, timer_number::RESTART);
        true
    }

    /// Its timer is due.
    pub(crate) fn restart_due(&mut self) {
        self.again.is_due = self.again.awaited;
    }

    /// Nothing of the scheduler that has gone is left.
    pub(super) fn forget_scheduler(&mut self, c: CpuId) {
        self.scx.entries = [None; Op::ALL.len()];
        self.scx.slice_dfl_ns = SLICE_DFL_NS;
        self.timers.forget_all();
        self.spins = SpinLocks::default();
        self.res_spins = ResLocks::default();
        self.cursors = Cursors::default();
        self.queues.destroy_users();
        for cpu in self.machine.topology.iter() {
            let own = self.cpu(cpu);
            (own.bypassing, own.released, own.sync_pending, own.reenqueue) = (false, false, false, None);
            own.kicks.clear();
            own.to_sync.clear();
            own.reenqueues.clear();
            self.set_target(cpu, PERF_ONE);
        }
        self.end_bypass(c);
        self.release_happenings();
    }

    /// The kernel's own memory in the world stays; all else is the new one's.
    fn renew_scheduler(&mut self, scheduler: &Scheduler, programs: Vec<UserProgram>) {
        let mut scx = Scx::new(scheduler);
        scx.at_boot = false;
        if scx.hotplug_seq != 0 {
            // A loader reads it as it opens the object.
            scx.hotplug_seq = self.outside.hotplug.seq;
        }
        let old = std::mem::replace(&mut self.scx, scx);
        self.scx.keep_memory(old);
        self.programs = programs;
        self.take_scheduler(scheduler);
        self.idle.set_all(true);
        // No callback but ops.init comes before all tasks are in.
        for cpu in self.machine.topology.iter() {
            self.cpu(cpu).bypassing = true;
        }
    }

    /// What the kernel keeps of a scheduler beside its callbacks.
    pub(super) fn take_scheduler(&mut self, scheduler: &Scheduler) {
        self.local_types = scheduler.local_types.clone();
        self.objects.processes.hints = scheduler.hints;
        self.decisions = scheduler.decisions;
        self.idle.set_per_node(scheduler.flags & ops_flags::BUILTIN_IDLE_PER_NODE != 0);
        self.lines.set_idle_per_node(self.idle.per_node());
    }
}

/// Does the end ask for a new beginning? An error does not.
fn wants_restart(exit: &Exit) -> bool {
    let is_error = matches!(exit.kind, ExitKind::Error | ExitKind::ErrorBpf | ExitKind::ErrorStall);
    !is_error && exit.code & ecode::ACT_RESTART != 0
}
