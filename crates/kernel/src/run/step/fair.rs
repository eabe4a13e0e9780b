//! The steps of the fair class's paths.

use crate::paths::sim::Sim;
use crate::state::frame::fair::FairFrame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

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
