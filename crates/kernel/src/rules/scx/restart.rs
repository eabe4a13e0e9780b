//! Decides whether a scheduler restarts after it has ended, and removes what is left of it.

use crate::state::bpf::iter::Cursors;
use crate::state::bpf::res_spin::ResLocks;
use crate::state::bpf::spin::SpinLocks;
use crate::state::exit::Exit;
use crate::state::kernel::Kernel;
use crate::state::machine::PERF_ONE;
use crate::state::scx::Scx;
use crate::state::scx::entries::Entries;
use crate::state::setup::{Scheduler, UserProgram};
use crate::state::timer_number;
use keel_abi::scx::{ExitKind, SLICE_DFL_NS, ecode, ops_flags};
use keel_abi::{CpuId, Span};

/// The maximum number of reloads of a scheduler within [`WINDOW`], as in `keel run`.
const MOST: usize = 5;

const WINDOW: Span = Span::from_ms(60_000);

impl Kernel {
    /// Returns whether the scheduler that has exited will restart.
    pub(crate) fn comes_again(&mut self) -> bool {
        if self.again.by_program {
            self.again.awaited = self.exit.as_deref().is_some_and(wants_restart);
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

    /// Handles the expired reload timer.
    pub(crate) fn restart_due(&mut self) {
        self.again.is_due = self.again.awaited;
        self.let_halt();
    }

    /// Removes everything that is left of the scheduler that has exited.
    pub(crate) fn forget_scheduler(&mut self, c: CpuId) {
        self.scx.entries = Entries::NONE;
        self.scx.slice_dfl_ns = SLICE_DFL_NS;
        self.timers.forget_all();
        self.spins = SpinLocks::default();
        self.res_spins = ResLocks::default();
        self.cursors = Cursors::default();
        self.queues.destroy_users();
        self.cids.forget_topology();
        for cpu in self.machine.topology.iter() {
            let own = self.cpu(cpu);
            (own.bypassing, own.released, own.sync_pending, own.reenqueue) = (false, false, false, None);
            own.to_sync.clear();
            own.errands.forget_scheduler();
            self.set_target(cpu, PERF_ONE);
        }
        self.end_bypass(c);
        self.release_happenings();
    }

    /// Installs the new scheduler. Of the old world, only the kernel's own memory stays.
    pub(crate) fn renew_scheduler(&mut self, scheduler: &Scheduler, programs: Vec<UserProgram>) {
        let mut scx = Scx::new(scheduler);
        scx.at_boot = false;
        if scx.hotplug_seq != 0 {
            // A loader reads it when it opens the object.
            scx.hotplug_seq = self.outside.hotplug.seq;
        }
        let old = std::mem::replace(&mut self.scx, scx);
        self.scx.keep_memory(old);
        self.programs = programs;
        self.take_scheduler(scheduler);
        self.idle.set_all(true);
        // Until all tasks are in the scheduler, no callback is called except ops.init.
        for cpu in self.machine.topology.iter() {
            self.cpu(cpu).bypassing = true;
        }
    }

    /// Stores the scheduler's properties other than its callbacks.
    pub(crate) fn take_scheduler(&mut self, scheduler: &Scheduler) {
        self.local_types = scheduler.local_types.clone();
        self.objects.processes.hints = scheduler.hints;
        self.decisions = scheduler.decisions;
        self.terms.iter_mut().for_each(|terms| terms.set_form(scheduler.arenas.is_some()));
        self.idle.set_per_node(scheduler.flags & ops_flags::BUILTIN_IDLE_PER_NODE != 0);
        self.lines.set_idle_per_node(self.idle.per_node());
    }
}

/// Returns whether the exit requests a restart. An error never does.
fn wants_restart(exit: &Exit) -> bool {
    let is_error = matches!(exit.kind, ExitKind::Error | ExitKind::ErrorBpf | ExitKind::ErrorStall);
    !is_error && exit.code & ecode::ACT_RESTART != 0
}
