//! A machine with a loaded object whose scheduler is not attached yet: the scheduler's user-space half runs programs of
//! the object (`BPF_PROG_TEST_RUN`), one at a time, while nothing else happens. Then it attaches the scheduler.

use crate::paths::sim::Sim;
use crate::state::companion::Beside;
use crate::state::cpus::BOOT_CPU;
use crate::state::scx::{Phase, Scx};
use crate::state::setup::{ProgramFailure, Scheduler, Setup, SetupError, refuse};
use keel_abi::bpf::{Ea, Engine};
use keel_trace::{Class, Meta};

impl<E: Engine> Sim<E> {
    /// Boots a machine on which nothing runs until [`Sim::attach_first`]; the setup's scheduler and programs are
    /// ignored.
    ///
    /// # Errors
    /// Fails when out of memory.
    pub fn unattached(
        vm: E,
        setup: Setup,
        companions: Vec<Beside<E::World>>,
        wants: Class,
    ) -> Result<Self, SetupError> {
        let setup = Setup { scheduler: None, programs: Vec::new(), ..setup };
        Self::booted(vm, setup, companions, wants)
    }

    /// Runs a function of the object on the boot CPU, as `BPF_PROG_TEST_RUN` does, and returns its result. Call this
    /// only before [`Sim::attach_first`]; it takes no virtual time.
    ///
    /// # Errors
    /// Fails if the function was stopped.
    pub fn run_alone(&mut self, function: u64, context: Ea) -> Result<u64, ProgramFailure> {
        assert!(self.k.scx.phase == Phase::Loaded, "nothing else runs yet");
        let begun = self.begin_for_user(BOOT_CPU, function, context);
        self.finish_alone(begun);
        match self.k.failed_program.take() {
            Some(failure) => Err(failure),
            None => Ok(self.k.this_cpu().returned),
        }
    }

    /// Attaches the scheduler of the loaded object and begins the run.
    ///
    /// # Errors
    /// Fails if the kernel refuses it; then nothing has changed.
    pub fn attach_first(&mut self, scheduler: &Scheduler) -> Result<(), SetupError> {
        assert!(self.k.scx.phase == Phase::Loaded, "a machine boots once");
        refuse(scheduler)?;
        let new = Scx::new(scheduler);
        let old = std::mem::replace(&mut self.k.scx, new);
        self.k.scx.keep_memory(old);
        self.k.take_scheduler(scheduler);
        self.k.out.name_scheduler(&scheduler.name);
        for (id, name) in &scheduler.queues {
            self.k.out.emit_meta(self.k.now, Meta::Queue { id: *id, name: name.clone() });
        }
        self.trace_enabling();
        self.begin_enable();
        Ok(())
    }
}
