//! The time that the fair class's own decisions take: they pay for what they visit, as callbacks pay for what they
//! execute.
//!
//! One iteration of each of the kernel's loops costs a number of BPF instructions of the machine, as kfuncs do
//! ([`crate::state::cost::kfunc`]). The numbers count the loads, comparisons and branches in the source of Linux 7.2.
//! Cache-line transfers are added to this.

use crate::state::kernel::Kernel;
use keel_abi::CpuId;

/// One iteration of a loop, by what it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// A check whether a CPU is idle (`available_idle_cpu()`, `sched_idle_cpu()`): five loads and as many comparisons.
    Idle,
    /// A CPU that is added to its group's statistics (`update_sg_lb_stats()`): load, utilization, runnable average, two
    /// counts.
    Sum,
    /// The classification of a group, and its comparison with the busiest so far (`group_classify()`,
    /// `update_sd_pick_busiest()`).
    Group,
    /// A CPU of the busiest group (`sched_balance_find_src_rq()`).
    Source,
    /// A task that might be moved (`can_migrate_task()`, `task_h_load()`).
    Task,
    /// A sched domain of a CPU, with its state (`for_each_domain()`).
    Level,
    /// An update of an average (`update_load_avg()`): three sums, their decay and three divisions.
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
    /// Charges `c` for one iteration on its own data.
    pub(crate) fn charge_visit(&mut self, c: CpuId, visit: Visit) {
        let ps = visit.insns() * self.machine.costs.insn_ps;
        self.charge_ps(c, ps);
    }

    /// Charges `c` for one iteration on the runqueue of another CPU, which it reads.
    pub(super) fn look_at(&mut self, c: CpuId, cpu: CpuId, visit: Visit) {
        let (line, by) = self.cpus.rq_line(cpu);
        let touched_ps = self.lines.read_runqueue_ps(line, by);
        self.charge_ps(c, touched_ps + visit.insns() * self.machine.costs.insn_ps);
        self.consider(cpu);
    }
}
