//! What a run's owner does with it, apart from letting it run: sets it up, reads its figures, and ends it.

use crate::paths::sim::Sim;
use crate::run::main_loop::State;
use crate::state::companion::{Beside, add_specs};
use crate::state::cost::lock::{LockName, LockUse};
use crate::state::cpu::Irq;
use crate::state::cpus::BOOT_CPU;
use crate::state::exit::Exit;
use crate::state::kernel::{Counters, Kernel};
use crate::state::log::Log;
use crate::state::scx::Phase;
use crate::state::setup::{ProgramFailure, Setup, SetupError};
use crate::state::waits::Waits;
use keel_abi::bpf::{CallPlace, Engine};
use keel_abi::clocks::Clocks;
use keel_abi::lines::LineUse;
use keel_abi::order::Order;
use keel_abi::scx::ExitKind;
use keel_abi::{Instant, Span, Stop};
use keel_trace::{Class, Meta, Sink};

impl<E: Engine> Sim<E> {
    /// Boots a machine with a scheduler attached, if the setup has one, and a workload about to start.
    pub fn new(vm: E, setup: Setup, wants: Class) -> Result<Self, SetupError> {
        Self::with_companions(vm, setup, Vec::new(), wants)
    }

    /// Like [`Sim::new`], with tasks of the scheduler's user-space half, the first of them with
    /// [`companion_pid`](crate::state::companion::companion_pid())`(0)`.
    pub fn with_companions(
        vm: E,
        setup: Setup,
        companions: Vec<Beside<E::World>>,
        wants: Class,
    ) -> Result<Self, SetupError> {
        let is_attached = setup.scheduler.is_some();
        let mut sim = Self::booted(vm, setup, companions, wants)?;
        sim.run_programs_once().map_err(SetupError::Program)?;
        match is_attached {
            true => sim.begin_enable(),
            false => {
                sim.k.scx.phase = Phase::Absent;
                sim.begin_first_sleeps(Instant::ZERO);
            }
        }
        Ok(sim)
    }

    /// A machine at time zero, with the tasks that exist before anything is attached.
    pub(crate) fn booted(
        mut vm: E,
        mut setup: Setup,
        companions: Vec<Beside<E::World>>,
        wants: Class,
    ) -> Result<Self, SetupError> {
        let own = setup.workload.tasks.len() as u32;
        // A recording has its own kernel threads.
        if setup.workload.recorded.is_none() {
            crate::state::noise::add_specs(setup.noise, &setup.machine, &mut setup.workload);
        }
        let kernel_threads = own..setup.workload.tasks.len() as u32;
        add_specs(&mut setup, &companions);
        let k = Kernel::boot(vm.world(), setup, wants)?;
        let mut sim = Self { k, vm, companions, stop: Stop::default() };
        sim.make_first_task();
        sim.make_companions();
        sim.make_tasks_asleep(kernel_threads);
        Ok(sim)
    }

    /// From now on [`Sim::run_until`] ends early when `stop` is set.
    pub fn stop_when_asked(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// From now on callbacks let others pass when `order` says so.
    pub fn take_order(&mut self, order: Box<dyn Order>) {
        self.k.order = Some(order);
        self.k.watch_calls();
    }

    /// From now on a path never continues directly from one step to the next: each step is a frame that the loop takes.
    /// The run is the same, but slower; tests compare direct paths with it.
    pub fn step_by_frames(&mut self) {
        for cpu in self.k.machine.topology.iter() {
            self.k.cpus[cpu].pauses.return_to_loop();
        }
    }

    /// From now on, records which call waits for whose lock.
    pub fn keep_waits(&mut self) {
        self.k.waits = Some(Box::default());
    }

    /// From now on, records the happens-before order. Everything earlier happens before all of it.
    pub fn keep_clocks(&mut self) {
        self.k.clocks = Some(Box::new(Clocks::new(self.k.machine.topology.cpus())));
        self.k.watch_calls();
    }

    /// Who has waited for whose lock, if that is recorded.
    pub fn waits(&self) -> Vec<Waits> {
        self.k.waits.iter().flat_map(|log| log.waits()).collect()
    }

    /// Ends the run now: emits open counts and closes the stream.
    pub fn finish(&mut self, sink: &mut dyn Sink) {
        self.k.emit_open_work();
        self.k.emit_open_counts(|out| out.flush(sink));
        self.k.count_bypass();
        if let Some(exit) = self.k.exit.clone() {
            self.k.out.emit_meta(self.k.now, Meta::SchedulerExit { kind: exit.kind, message: exit.message });
        }
        self.k.out.emit_meta(self.k.now, Meta::End);
        self.k.out.flush(sink);
    }

    /// Sets how long the machine has been up at the beginning of the run; the default is random.
    pub fn set_uptime(&mut self, uptime: Span) {
        self.k.uptime = uptime;
    }

    /// The current moment.
    pub fn now(&self) -> Instant {
        self.k.now
    }

    /// How the scheduler ended, if it has.
    pub fn exit(&self) -> Option<&Exit> {
        self.k.exit.as_deref()
    }

    /// Which callback's call ended the scheduler, and its place in the object:
    /// `ops.enqueue(), my_enqueue insn 12 (my.bpf.c:40: scx_bpf_dsq_insert(p, 5, 0, 0);)`. `None` if no call did.
    pub fn exit_place(&self) -> Option<String> {
        let caller = self.k.exit.as_ref().and(self.k.blamed)?;
        let CallPlace { program, insn, source } = self.vm.place(caller.call)?;
        let source = source.map_or(String::new(), |source| format!(" ({source})"));
        Some(format!("{}, {program} insn {insn}{source}", caller.words()))
    }

    /// The program of the scheduler's user-space half that failed, if any has: the run is over.
    pub fn failed_program(&self) -> Option<&ProgramFailure> {
        self.k.failed_program.as_ref()
    }

    /// The run's own counters.
    pub fn counters(&self) -> Counters {
        self.k.counters
    }

    /// What the lines of each kind of the kernel's objects have cost so far.
    pub fn line_uses(&self) -> [(&'static str, LineUse); 6] {
        self.k.lines.uses()
    }

    /// What each lock that was ever taken has been used for.
    pub fn lock_uses(&self) -> Vec<(LockName, LockUse)> {
        self.k.lock_uses()
    }

    /// What the scheduler printed (`bpf_printk`).
    pub fn printed(&self) -> &Log {
        &self.k.log
    }

    /// The engine, to read maps and counters back.
    pub fn engine(&mut self) -> &mut E {
        &mut self.vm
    }

    /// Detaches the scheduler as a user would, and continues until it has exited.
    pub fn detach(&mut self, sink: &mut dyn Sink) {
        if self.k.exit.is_none() {
            self.k.end_scheduler(BOOT_CPU, ExitKind::Unreg, 0, String::new());
            self.k.interrupt(BOOT_CPU, self.k.now, Irq::Watchdog);
        }
        while !self.k.scx.is_gone() && self.run_until(self.k.now + Span::from_ms(100), sink) == State::Running
        {
        }
    }
}
