//! Determines when the user-space half's programs run, and what happens if they fail.

use crate::rules::callback::why_stopped;
use crate::state::cpus::BOOT_CPU;
use crate::state::kernel::Kernel;
use crate::state::setup::ProgramFailure;
use crate::state::timer_number;
use keel_abi::bpf::Fault;
use keel_abi::{CpuId, Instant, Span};

impl Kernel {
    /// Starts the periodic programs, after the scheduler has been attached.
    pub(crate) fn arm_programs(&mut self) {
        for program in 0..self.programs.len() as u32 {
            self.arm_program(BOOT_CPU, program);
        }
    }

    pub(crate) fn arm_program(&mut self, c: CpuId, program: u32) {
        if let Some(every) = self.programs[program as usize].every {
            let due = self.cpus[c].clock + every.max(Span::from_ns(1));
            self.scx.programs_at.resize(self.programs.len(), Instant::ZERO);
            self.scx.programs_at[program as usize] = due;
            self.queue.push(due, timer_number::FIRST_PROGRAM + program);
        }
    }

    /// Checks that a program has returned 0. Anything else is a failure.
    pub(crate) fn check_program(&mut self, program: u32) {
        let value = self.this_cpu().returned as i32;
        if value != 0 && self.failed_program.is_none() {
            let name = self.programs[program as usize].name.clone();
            self.let_halt();
            self.failed_program = Some(ProgramFailure { program: name, why: format!("it returned {value}") });
        }
    }

    /// Records that a program was stopped. A verifier would have rejected it.
    pub(crate) fn stop_program(&mut self, fault: &Fault) {
        let failure = ProgramFailure { program: fault.program.clone(), why: why_stopped(fault) };
        self.let_halt();
        self.failed_program.get_or_insert(failure);
    }
}
