//! What the class's own decisions cost: they pay for what they visit, as callbacks pay for what they execute.
//!
//! The lengths of the kernel's loops are in BPF instructions of the machine, like the prices of kfuncs
//! ([`crate::state::cost::kfunc`]): the loads, comparisons and branches of one iteration in the source of Linux 7.2.
//! Cache lines that move come on top.

use crate::state::kernel::Kernel;
use keel_abi::CpuId;

/// An iteration of a loop, by what it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// Is a CPU idle (`available_idle_cpu()`, `sched_idle_cpu()`)? Five loads and as many comparisons.
    Idle,
    /// A CPU in the sums of its group (`update_sg_lb_stats()`): load, utilization, runnable average, two counts.
    Sum,
    /// A group that has been summed up: its kind, and whether it is the busiest so far (`group_classify()`,
    /// `update_sd_pick_busiest()`).
    Group,
    /// A CPU of the busiest group (`sched_balance_find_src_rq()`).
    Source,
    /// A task that might be moved (`can_migrate_task()`, `task_h_load()`).
    Task,
    /// A level of a CPU's domains, with its state (`for_each_domain()`).
    Level,
    /// An average that is updated (`update_load_avg()`): three sums, their decay and three divisions.
    Average,
}

impl Visit {
    const fn insns(self) -> u64 {
        match self {
            Self::Idle => 10,
            Self::Sum => 40,
            Self::Group => 40,
            Self::Source => 25,
            Self::Task => 60,
            Self::Level => 15,
            Self::Average => 80,
        }
    }
}

impl Kernel {
    /// `c` executes one iteration on its own data.
    pub(crate) fn take_turn(&mut self, c: CpuId, visit: Visit) {
        let ps = visit.insns() * self.machine.costs.insn_ps;
        self.charge_ps(c, ps);
    }

    /// `c` executes one iteration for another CPU, whose runqueue it reads.
    pub(super) fn look_at(&mut self, c: CpuId, cpu: CpuId, visit: Visit) {
        let touched_ps = self.lines.read_runqueue_ps(cpu, self.cpus.holder());
        self.charge_ps(c, touched_ps + visit.insns() * self.machine.costs.insn_ps);
        self.consider(cpu);
    }
}
