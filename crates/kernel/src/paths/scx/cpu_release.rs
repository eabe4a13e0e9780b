//! A higher scheduling class takes a CPU from the scheduler and gives it back. `ops.cpu_release` is called once, when
//! the CPU is taken from one of the scheduler's tasks, and `ops.cpu_acquire` when the scheduler is next asked for a
//! task there (`switch_class()`, `balance_one()`).

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::layout::cpu_release_args as field;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

/// `SCX_CPU_PREEMPT_RT`.
const PREEMPT_RT: u32 = 0;

/// `SCX_CPU_PREEMPT_UNKNOWN`: the class is not above fair (`preempt_reason_from_class()`).
const PREEMPT_UNKNOWN: u32 = 3;

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::Release`]: `next` is the task that takes the CPU.
    pub(crate) fn release_cpu(&mut self, c: CpuId, next: TaskId) {
        self.k.this_cpu().released = true;
        if !self.k.has(Op::CpuRelease) {
            return;
        }
        let cpus = self.k.cpus.len() as u64;
        let world = self.vm.world();
        if self.k.scx.release_args.is_null() {
            self.k.scx.release_args = world.alloc(field::SIZE * cpus).unwrap_or_default();
        }
        let args = self.k.scx.release_args.offset(field::SIZE * u64::from(c.0));
        let reason = match self.k.tasks[next].class {
            SchedClass::Rt => PREEMPT_RT,
            _ => PREEMPT_UNKNOWN,
        };
        let task = self.k.tasks[next].ea.0;
        if let Some(place) = world.slice_mut(args, field::SIZE) {
            place[field::REASON as usize..][..4].copy_from_slice(&reason.to_le_bytes());
            place[field::TASK as usize..][..8].copy_from_slice(&task.to_le_bytes());
        }
        self.start(c, Op::CpuRelease, TaskId::IDLE, &[u64::from(c.0), args.0]);
    }

    /// Notifies the scheduler that it has the CPU again. Then the pick starts over.
    pub(crate) fn acquire_cpu(&mut self, c: CpuId) {
        let cpu = self.k.this_cpu();
        cpu.in_balance = true;
        cpu.released = false;
        cpu.stack.push(Frame::Pick);
        self.start(c, Op::CpuAcquire, TaskId::IDLE, &[u64::from(c.0), 0]);
    }
}
