//! All CPUs, with fast access to the one that runs.
//!
//! Nearly every access is to the CPU that takes a step, so that CPU is kept apart from the others while it does: no
//! index, no bounds check, one load.

use crate::state::cpu::Cpu;
use keel_abi::lines::{Holder, Line, Transfers};
use keel_abi::{CpuId, CpuSet};
use std::mem::swap;

/// The CPU that boots the machine, and on which user space acts.
pub(crate) const BOOT_CPU: CpuId = CpuId(0);

/// The CPUs, by [`CpuId`].
#[derive(Debug)]
pub(crate) struct Cpus {
    /// The CPU that runs, or ran last.
    pub(crate) this_cpu: Box<Cpu>,
    running: CpuId,
    /// The other CPUs, with a placeholder for the one that runs.
    #[allow(clippy::vec_box, reason = "the CPU that runs changes places with a stand-in, by pointers")]
    all: Vec<Box<Cpu>>,
}

impl Cpus {
    /// CPUs with these siblings, which take cache lines so; the first of them runs. There must be one.
    pub(crate) fn new(siblings: Vec<CpuSet>, transfers: &Transfers) -> Self {
        let holders = (0..).map(|cpu| transfers.holder(CpuId(cpu)));
        let all = siblings.into_iter().zip(holders);
        let all = all.map(|(siblings, holder)| Box::new(Cpu::new(&siblings, holder))).collect();
        let stand_in = Box::new(Cpu::new(&CpuSet::default(), transfers.holder(CpuId(0))));
        let mut cpus = Self { this_cpu: stand_in, running: CpuId(0), all };
        swap(&mut cpus.this_cpu, &mut cpus.all[0]);
        cpus
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Makes `cpu` the one that runs.
    #[inline]
    pub(crate) fn run(&mut self, cpu: CpuId) {
        if cpu != self.running {
            self.run_other(cpu);
        }
    }

    /// Like `run` for a CPU that is not the one that ran last.
    #[inline(always)]
    pub(crate) fn run_other(&mut self, cpu: CpuId) {
        debug_assert!(!self.is_running(cpu), "the place of that one has a stand-in");
        let all = self.all.as_mut_slice();
        let (last, next) = (self.running.index(), cpu.index());
        if last >= all.len() || next >= all.len() {
            no_such_cpu(cpu);
        }
        // The last CPU goes where the stand-in was, and the stand-in where the next one comes from.
        swap(&mut self.this_cpu, &mut all[last]);
        swap(&mut self.this_cpu, &mut all[next]);
        self.running = cpu;
    }

    /// The CPU that runs, or ran last.
    #[inline]
    pub(crate) fn this_id(&self) -> CpuId {
        self.running
    }

    /// The CPU that runs, and another one.
    #[inline]
    pub(crate) fn this_and(&mut self, other: CpuId) -> (&mut Cpu, &mut Cpu) {
        debug_assert!(!self.is_running(other), "the place of the CPU that runs has a stand-in");
        (&mut self.this_cpu, &mut self.all[other.index()])
    }

    /// The line of a CPU's runqueue, and how the CPU that runs takes it.
    #[inline]
    pub(crate) fn rq_line(&mut self, rq: CpuId) -> (&mut Line, &Holder) {
        let me = &mut *self.this_cpu;
        let lock = if rq == self.running { &mut me.lock } else { &mut self.all[rq.index()].lock };
        (&mut lock.line, &me.holder)
    }

    /// How the CPU that runs takes cache lines.
    #[inline]
    pub(crate) fn holder(&self) -> &Holder {
        &self.this_cpu.holder
    }

    /// Returns whether `cpu` is the one that takes a step.
    pub(crate) fn is_running(&self, cpu: CpuId) -> bool {
        cpu == self.running
    }
}

#[cold]
#[inline(never)]
fn no_such_cpu(cpu: CpuId) -> ! {
    panic!("there is no {cpu:?}");
}

impl std::ops::Index<CpuId> for Cpus {
    type Output = Cpu;
    #[inline]
    fn index(&self, cpu: CpuId) -> &Cpu {
        if cpu == self.running { &self.this_cpu } else { &self.all[cpu.index()] }
    }
}

impl std::ops::IndexMut<CpuId> for Cpus {
    #[inline]
    fn index_mut(&mut self, cpu: CpuId) -> &mut Cpu {
        if cpu == self.running { &mut self.this_cpu } else { &mut self.all[cpu.index()] }
    }
}
