//! Runs `SEC("syscall")` programs for the scheduler's user-space half (`bpf_prog_test_run_syscall()`), either once
//! before the scheduler is attached or repeatedly while it is.
//!
//! Here, no task runs them: they run on the boot CPU, between its other work, with no runqueue locked. A program that
//! fails ends the run, as it would end the loader on a real kernel.

use crate::paths::callback::Begun;
use crate::paths::sim::Sim;
use crate::state::callback::Place;
use crate::state::cpus::BOOT_CPU;
use crate::state::frame::Frame;
use crate::state::setup::ProgramFailure;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Engine};

impl<E: Engine> Sim<E> {
    /// Runs the programs that run before the scheduler is attached, while nothing else happens.
    pub(crate) fn run_programs_once(&mut self) -> Result<(), ProgramFailure> {
        for program in 0..self.k.programs.len() as u32 {
            if self.k.programs[program as usize].every.is_some() {
                continue;
            }
            let begun = self.start_program(BOOT_CPU, program);
            self.finish_alone(begun);
            self.k.check_program(program);
            if let Some(failure) = self.k.failed_program.take() {
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Runs [`Frame::RunProgram`].
    pub(crate) fn run_program(&mut self, c: CpuId, program: u32) {
        let is_early =
            self.k.scx.programs_at.get(program as usize).is_some_and(|&at| self.k.cpus[c].clock < at);
        if self.k.scx.is_disabling() || program as usize >= self.k.programs.len() || is_early {
            return;
        }
        self.k.this_cpu().stack.push(Frame::ProgramDone { program });
        let begun = self.start_program(c, program);
        self.leave_if_suspended(begun);
    }

    /// Runs [`Frame::ProgramDone`].
    pub(crate) fn program_done(&mut self, c: CpuId, program: u32) {
        self.k.check_program(program);
        if self.k.failed_program.is_none() {
            self.k.arm_program(c, program);
        }
    }

    /// Starts a program for a companion, with a context in memory.
    pub(crate) fn start_for_companion(&mut self, c: CpuId, function: u64, context: Ea) {
        let begun = self.begin_for_user(c, function, context);
        self.leave_if_suspended(begun);
    }

    /// Begins a function for user space, with a context in memory.
    pub(crate) fn begin_for_user(&mut self, c: CpuId, function: u64, context: Ea) -> Begun {
        self.k.begin_program(Place::Syscall);
        let progress = self.vm.start_function(&mut self.k, c, function, [context.0, 0, 0, 0, 0]);
        self.progressed(progress)
    }

    fn start_program(&mut self, c: CpuId, program: u32) -> Begun {
        self.k.begin_program(Place::Syscall);
        let entry = self.k.programs[program as usize].entry;
        let args = self.k.programs[program as usize].args.clone();
        let progress = self.vm.start(&mut self.k, c, entry, &args);
        self.progressed(progress)
    }
}
