//! Decides whether a CPU that runs out of tasks looks for one elsewhere (`sched_balance_newidle()`).

use crate::state::fair::balancing::Search;
use crate::state::fair::idle_time::MIGRATION_COST;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;

impl Kernel {
    /// Returns whether it is worthwhile for `c`, which has nothing to run, to look elsewhere. If so, begins the search.
    pub(crate) fn begin_newidle_search(&mut self, c: CpuId) -> bool {
        let at = self.cpus.this_cpu.clock;
        self.fair.idle_times[c.index()].begin(at);
        if !self.cpus[c].online {
            return false;
        }
        let hierarchy = self.hierarchy();
        if hierarchy.levels(c).is_empty() {
            return false;
        }
        let cost_ns = self.memory_of(c, 0).cost_ns;
        if !self.fair.is_overloaded || self.fair.idle_times[c.index()].mean_ns < cost_ns {
            self.next_balance_by(c, 0);
            return false;
        }
        self.update_queue_load(c);
        self.fair.searches[c.index()] = Search { began: at, ..Search::NONE };
        true
    }

    /// Makes the CPU's next periodic balancing no later than this level's (`update_next_balance()`).
    pub(crate) fn next_balance_by(&mut self, c: CpuId, level: usize) {
        let memory = self.memory_of(c, level);
        let next = memory.last + memory.interval(false, u64::from(self.machine.hz), self.most_interval());
        let at = &mut self.fair.next_balance[c.index()];
        *at = (*at).min(next);
    }
}

/// A CPU that expects to be idle for less than this does not update the averages of others (`nohz_newidle_balance()`).
pub(super) const SOON_NS: u64 = MIGRATION_COST.as_ns();
