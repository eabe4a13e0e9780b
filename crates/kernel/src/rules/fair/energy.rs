//! Energy-aware placement (`find_energy_efficient_cpu()`): as long as no CPU is too busy, a waking task goes where the
//! machine's energy model predicts the least energy. Each performance domain has two candidates: the previous CPU and
//! the one with the most spare capacity.

use crate::rules::fair::cost::Visit;
use crate::state::fair::pelt::ONE;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, CpuSet, TaskId};

/// The candidates of a domain, each with its CPU's spare capacity.
#[derive(Clone, Copy, Debug, Default)]
struct Candidates {
    prev: Option<u64>,
    roomiest: Option<(CpuId, u64)>,
}

impl Candidates {
    fn add(&mut self, cpu: CpuId, prev: CpuId, spare: u64) {
        if cpu == prev {
            self.prev = Some(spare);
        } else if self.roomiest.is_none_or(|(_, most)| spare > most) {
            self.roomiest = Some((cpu, spare));
        }
    }
}

impl Kernel {
    /// Returns whether the machine has an energy model, CPUs of different capacities and no SMT
    /// (`sched_energy_enabled()`).
    pub(super) fn heeds_energy(&self) -> bool {
        !self.machine.energy.is_empty() && self.is_uneven() && !self.fair.has_smt
    }

    /// Checks for overutilization when a task has joined a CPU, or at a tick (`check_update_overutilized_status()`).
    pub(super) fn note_overuse(&mut self, cpu: CpuId) {
        if !self.fair.is_overused && self.is_overused(cpu) {
            self.fair.is_overused = true;
        }
    }

    /// Returns whether tasks use more than four fifths of the CPU (`cpu_overutilized()`).
    pub(super) fn is_overused(&self, cpu: CpuId) -> bool {
        self.heeds_energy() && !fits(self.cpu_util(cpu), self.capacity_left(cpu))
    }

    /// Returns the CPU on which `task`, woken on `c`, takes the least energy, or `None` if energy doesn't decide.
    pub(super) fn least_energy(&mut self, c: CpuId, task: TaskId, prev: CpuId) -> Option<CpuId> {
        if !self.heeds_energy() || self.fair.is_overused {
            return None;
        }
        let hierarchy = self.hierarchy();
        let mut uneven = hierarchy.levels(c).iter().skip_while(|level| !level.is_uneven);
        let span = &uneven.find(|level| level.span.contains(prev))?.span;
        self.sync_load(task);
        let own = self.fair.entities[task].load.util_or_estimate();
        if own == 0 {
            return Some(prev);
        }
        let usable = span.and(&self.tasks[task].cpus);
        let mut prev_takes = None;
        let mut best: Option<(CpuId, u64)> = None;
        for domain in 0..self.machine.energy.len() {
            let Some(cpus) = self.domain_in_use(domain) else { continue };
            let found = self.candidates(c, task, prev, &cpus.and(&usable));
            let is_better = found.roomiest.filter(|&(_, spare)| found.prev.is_none_or(|own| spare > own));
            if found.prev.is_none() && is_better.is_none() {
                continue;
            }
            let busy = self.busy_time(c, task, &cpus);
            let base = self.energy(domain, &cpus, task, None, busy);
            let more = |to| self.energy(domain, &cpus, task, Some(to), busy + own).checked_sub(base);
            if found.prev.is_some() {
                // If the task appears to reduce the energy, the CPUs' utilization has changed in the meantime.
                let Some(takes) = more(prev) else { return Some(prev) };
                prev_takes = Some(takes);
                if best.is_none_or(|(_, least)| takes < least) {
                    best = Some((prev, takes));
                }
            }
            if let Some((cpu, _)) = is_better {
                let Some(takes) = more(cpu) else { return Some(prev) };
                if best.is_none_or(|(_, least)| takes < least) {
                    best = Some((cpu, takes));
                }
            }
        }
        let is_less = |takes| prev_takes.is_none_or(|at_prev| takes < at_prev);
        Some(best.filter(|&(_, takes)| is_less(takes)).map_or(prev, |(cpu, _)| cpu))
    }

    /// Returns the online CPUs of a performance domain, or `None` if there are none.
    fn domain_in_use(&self, domain: usize) -> Option<CpuSet> {
        let cpus = self.machine.energy[domain].cpus.iter();
        let cpus: CpuSet = cpus.filter(|&cpu| self.cpus[cpu].online).collect();
        (!cpus.is_empty()).then_some(cpus)
    }

    fn candidates(&mut self, c: CpuId, task: TaskId, prev: CpuId, cpus: &CpuSet) -> Candidates {
        let mut found = Candidates::default();
        for cpu in cpus.iter() {
            self.look_at(c, cpu, Visit::Sum);
            let (util, capacity) = (self.util_with(cpu, task, Some(cpu), false), self.capacity_left(cpu));
            if fits(util, capacity) {
                found.add(cpu, prev, capacity.saturating_sub(util));
            }
        }
        found
    }

    /// Returns the utilization of the domain's CPUs without the task (`eenv_pd_busy_time()`).
    fn busy_time(&mut self, c: CpuId, task: TaskId, cpus: &CpuSet) -> u64 {
        cpus.iter()
            .map(|cpu| {
                self.look_at(c, cpu, Visit::Sum);
                let util = self.util_with(cpu, task, None, false) + self.rt_util(cpu);
                util.min(self.capacity(cpu))
            })
            .sum()
    }

    /// Returns the energy that the domain takes if the task is on `to`, or without the task (`compute_energy()`).
    fn energy(&self, domain: usize, cpus: &CpuSet, task: TaskId, to: Option<CpuId>, busy: u64) -> u64 {
        let all: u64 = cpus.iter().map(|cpu| self.capacity(cpu)).sum();
        let needed = |cpu| {
            let capacity = self.capacity(cpu);
            let util = (self.util_with(cpu, task, to, true) + self.rt_util(cpu)).min(capacity);
            // What the governor requests (`sugov_effective_cpu_perf()`): full capacity if a real-time task can run.
            if self.cpus[cpu].rt.is_ready() { capacity } else { (util + util / 4).min(capacity) }
        };
        let most = cpus.iter().map(needed).max().unwrap_or(0);
        self.machine.energy[domain].energy(most, busy.min(all))
    }

    /// Returns a CPU's utilization if the task is on `to` (`cpu_util()`). If boosted, waiting tasks count as well.
    fn util_with(&self, cpu: CpuId, task: TaskId, to: Option<CpuId>, is_boosted: bool) -> u64 {
        let load = &self.fair.loads[cpu.index()];
        let own = &self.fair.entities[task];
        let mut util = load.queue.avg.util;
        if is_boosted {
            util = util.max(load.queue.avg.runnable);
        }
        let is_here = own.load.queue.is_some_and(|queue| queue.cpu == cpu);
        let (goes_here, own_util) = (to == Some(cpu), own.load.avg.util);
        util = match (is_here, goes_here) {
            (true, false) => util.saturating_sub(own_util),
            (false, true) => util + own_util,
            _ => util,
        };
        let mut estimate = load.estimate;
        if goes_here {
            estimate += own.load.estimate;
        } else if is_here && own.on_rq {
            estimate = estimate.saturating_sub(own.load.estimate);
        }
        util.max(estimate).min(self.capacity(cpu))
    }
}

/// `fits_capacity()`.
fn fits(util: u64, capacity: u64) -> bool {
    util * 1280 < capacity * ONE
}
