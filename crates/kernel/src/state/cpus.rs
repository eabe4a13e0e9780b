//! All CPUs, with fast access to the one that runs.
//!
//! Nearly every access is to the CPU that takes a step, so that CPU is kept apart from the others while it does: no
//! index, no bounds check, one load.

use crate::state::cpu::Cpu;
use crate::state::event::MAX_CPUS;
use keel_abi::lines::{Holder, Line, Transfers};
use keel_abi::{CpuId, CpuSet};
use std::mem::{forget, replace};

/// The CPU that boots the machine, and on which user space acts.
pub(crate) const BOOT_CPU: CpuId = CpuId(0);

/// The CPUs, by [`CpuId`].
#[derive(Debug)]
pub(crate) struct Cpus {
    /// The CPU that runs, or ran last.
    pub(crate) this_cpu: Box<Cpu>,
    running: CpuId,
    /// The other CPUs, and places for as many as there can be: an index needs no check.
    all: Box<[Option<Box<Cpu>>; PLACES]>,
    len: usize,
}

/// A place for each CPU that a machine can have.
const PLACES: usize = MAX_CPUS as usize;

impl Cpus {
    /// CPUs with these siblings, which take cache lines so; the first of them runs. There must be one.
    pub(crate) fn new(siblings: Vec<CpuSet>, transfers: &Transfers) -> Self {
        let holders = (0..).map(|cpu| transfers.holder(CpuId(cpu)));
        let cpus = siblings.into_iter().zip(holders);
        let mut all: Vec<_> =
            cpus.map(|(siblings, holder)| Some(Box::new(Cpu::new(&siblings, holder)))).collect();
        let len = all.len();
        let this_cpu = all[0].take().expect("there is a CPU");
        all.resize_with(PLACES, || None);
        let all = all.try_into().unwrap_or_else(|_| unreachable!("there are as many places"));
        Self { this_cpu, running: CpuId(0), all, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
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
        let Some(next) = self.all[place(cpu)].take() else { no_such_cpu(cpu) };
        let last = replace(&mut self.this_cpu, next);
        let before = self.all[place(self.running)].replace(last);
        debug_assert!(before.is_none(), "the place of the CPU that runs is empty");
        // There is nothing to drop.
        forget(before);
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
        let Some(other_cpu) = &mut self.all[place(other)] else { no_such_cpu(other) };
        (&mut self.this_cpu, other_cpu)
    }

    /// The line of a CPU's runqueue, and how the CPU that runs takes it.
    #[inline]
    pub(crate) fn rq_line(&mut self, rq: CpuId) -> (&mut Line, &Holder) {
        let me = &mut *self.this_cpu;
        let lock = match &mut self.all[place(rq)] {
            _ if rq == self.running => &mut me.lock,
            Some(other) => &mut other.lock,
            None => no_such_cpu(rq),
        };
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

/// Where a CPU is while another one runs.
#[inline(always)]
fn place(cpu: CpuId) -> usize {
    debug_assert!(cpu.0 < MAX_CPUS, "no machine has as many CPUs");
    cpu.index() % PLACES
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
        if cpu == self.running {
            return &self.this_cpu;
        }
        let Some(other) = &self.all[place(cpu)] else { no_such_cpu(cpu) };
        other
    }
}

impl std::ops::IndexMut<CpuId> for Cpus {
    #[inline]
    fn index_mut(&mut self, cpu: CpuId) -> &mut Cpu {
        if cpu == self.running {
            return &mut self.this_cpu;
        }
        let Some(other) = &mut self.all[place(cpu)] else { no_such_cpu(cpu) };
        other
    }
}
