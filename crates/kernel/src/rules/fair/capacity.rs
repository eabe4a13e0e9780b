//! The CPU capacity that real-time tasks leave to the fair class (`scale_rt_capacity()`). It is updated when the CPU is
//! balanced for, so it may be out of date.
//!
//! Interrupts take no capacity, as in kernels that don't account their time (without `CONFIG_IRQ_TIME_ACCOUNTING`;
//! Debian's are built so), and there are no deadline tasks.

use crate::state::fair::pelt::Doing;
use crate::state::fair::round::{Idleness, Round};
use crate::state::kernel::Kernel;
use keel_abi::CpuId;

/// Returns the capacity that is left of a CPU, which is never zero.
fn left(capacity: u64, rt: u64) -> u64 {
    capacity.saturating_sub(rt).max(1)
}

impl Kernel {
    /// Records that `c` starts or stops running a real-time task (`update_rt_rq_load_avg()`).
    pub(crate) fn note_rt(&mut self, c: CpuId, runs: bool) {
        self.count_rt(c);
        self.fair.loads[c.index()].runs_rt = runs;
        self.govern(c);
    }

    /// Updates the average utilization of a CPU by real-time tasks.
    pub(super) fn count_rt(&mut self, cpu: CpuId) {
        let now = self.pelt_now(cpu);
        let load = &mut self.fair.loads[cpu.index()];
        let runs = u64::from(load.runs_rt);
        let doing = Doing { weight: runs, runnable: runs, is_running: load.runs_rt };
        if load.rt.count(now, doing) {
            load.rt.average(1);
        }
    }

    /// `cpu_util_rt()`.
    pub(crate) fn rt_util(&self, cpu: CpuId) -> u64 {
        self.fair.loads[cpu.index()].rt.util
    }

    /// Updates the capacity of the CPU that a round at the lowest level balances for, but not every time that the CPU
    /// runs out of tasks (`update_group_capacity()`, `update_cpu_capacity()`).
    pub(super) fn update_capacity(&mut self, round: &Round) {
        let (cpu, now) = (round.to, self.ticks());
        if round.idleness == Idleness::NewlyIdle && now < self.fair.loads[cpu.index()].left_until {
            return;
        }
        let memory = self.memory_of(cpu, round.level);
        let interval = memory.interval(false, u64::from(self.machine.hz), self.most_interval());
        let left = left(self.capacity(cpu), self.rt_util(cpu));
        let load = &mut self.fair.loads[cpu.index()];
        (load.left, load.left_until) = (Some(left), now + interval);
    }

    /// Returns the CPU's capacity for the fair class as of its last update (`capacity_of()`).
    pub(super) fn capacity_left(&self, cpu: CpuId) -> u64 {
        self.fair.loads[cpu.index()].left.unwrap_or_else(|| self.capacity(cpu))
    }

    /// Returns whether that is noticeably less than the CPU's full capacity (`check_cpu_capacity()`).
    pub(super) fn is_reduced(&self, cpu: CpuId, imbalance_pct: u64) -> bool {
        self.capacity_left(cpu) * imbalance_pct < self.capacity(cpu) * 100
    }
}

#[cfg(test)]
mod tests {
    use super::left;

    /// `scale_rt_capacity()`.
    #[test]
    fn real_time_tasks_leave_the_rest() {
        let check = |capacity, rt, expected| assert_eq!(left(capacity, rt), expected, "{capacity} {rt}");
        check(1024, 0, 1024);
        check(1024, 300, 724);
        check(1024, 1024, 1);
        check(512, 800, 1);
    }
}
