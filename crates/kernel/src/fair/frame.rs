//! The steps of balancing, cut where another runqueue's lock is taken.

use super::ids::Slot;
use crate::sim::Sim;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, TaskId};

/// One step of a path of the fair class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FairFrame {
    /// `sched_balance_rq()`: who has too much?
    Find,
    /// `detach_tasks()`, with the source's lock.
    Detach,
    /// They have been attached.
    Attached,
    /// `sched_balance_newidle()`, from this level on.
    Newidle { level: u32 },
    /// It is over: the own runqueue is locked again.
    Newidled,
    /// `sched_balance_domains()` for this CPU, from this level on.
    Periodic { cpu: CpuId, level: u32 },
    /// `sched_balance_softirq()`.
    Softirq,
    /// `_nohz_idle_balance()`: the next idle CPU, so many have been.
    Nohz { nth: u32 },
    /// `active_load_balance_cpu_stop()`.
    Push,
    /// `throttle_cfs_rq_work()`.
    Throttle,
    /// `unthrottle_cfs_rq()` for a group on this CPU.
    Unthrottle { slot: Slot },
    /// `migration_cpu_stop()` for a task that starts a program.
    Leave { task: TaskId, target: CpuId },
}

impl<E: Engine> Sim<E> {
    /// Takes one step of a path of the fair class.
    #[inline(never)]
    pub(crate) fn fair_step(&mut self, c: CpuId, frame: FairFrame) {
        match frame {
            FairFrame::Find => self.find_imbalance(c),
            FairFrame::Detach => self.detach_tasks(c),
            FairFrame::Attached => self.attached(c),
            FairFrame::Newidle { level } => self.newidle(c, level as usize),
            FairFrame::Newidled => self.newidled(c),
            FairFrame::Periodic { cpu, level } => self.balance_domains(c, cpu, level as usize),
            FairFrame::Softirq => self.balance_softirq(c),
            FairFrame::Nohz { nth } => self.nohz_balance(c, nth),
            FairFrame::Push => self.push_running(c),
            FairFrame::Throttle => self.throttle_current(c),
            FairFrame::Unthrottle { slot } => self.unthrottle_here(c, slot),
            FairFrame::Leave { task, target } => self.leave_for(c, task, target),
        }
    }
}
