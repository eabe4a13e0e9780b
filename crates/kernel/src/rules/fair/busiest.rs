//! Finds the busiest group of a level and its busiest CPU, and computes how much load or how many tasks to pull from
//! there (`sched_balance_find_src_group()`, `calculate_imbalance()`, `sched_balance_find_src_rq()`). Moves nothing
//! itself.

use crate::rules::fair::cost::Visit;
use crate::rules::fair::select_idle_sibling::idle_scan;
use crate::rules::fair::stats::{Stats, allowed_between_nodes, is_greater};
use crate::state::domains::groups::{Group, Hierarchy, Level};
use crate::state::fair::pelt::ONE;
use crate::state::fair::round::{Idleness, Moves, Round};
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_trace::policy::GroupClass;

/// The load statistics of a level's groups (`struct sd_lb_stats`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Groups {
    local: Stats,
    busiest: Stats,
    load: u64,
    capacity: u64,
    util: u64,
    prefers_sibling: bool,
    /// Whether all CPUs of the group are one core, for the local and the busiest group.
    is_core: [bool; 2],
    has_crowd: bool,
    /// Whether a CPU is too busy for energy-aware placement.
    has_overuse: bool,
}

impl Kernel {
    /// Returns the CPU to pull tasks from. Stores in the round how much to pull, and in which unit.
    pub(crate) fn find_busiest(&mut self, c: CpuId, round: &mut Round) -> Option<CpuId> {
        let hierarchy = round.hierarchy.clone();
        let level = &hierarchy.levels(round.owner)[round.level];
        let (groups, busiest) = self.compare_groups(c, round, &hierarchy, level);
        round.considered = self.fair.considered.take();
        self.note_level(round, level, &groups);
        let busiest = busiest?;
        // Energy-aware placement is not disturbed, except for tasks on CPUs that are too slow for them.
        if self.heeds_energy() && !self.fair.is_overused && groups.busiest.kind != GroupClass::Misfit {
            return None;
        }
        let (moves, amount) = groups.imbalance(round.idleness, level)?;
        (round.moves, round.imbalance) = (moves, amount as i64);
        if amount == 0 {
            return None;
        }
        self.busiest_cpu(c, round, level, busiest)
    }

    /// `update_sd_lb_stats()`.
    fn compare_groups<'h>(
        &mut self,
        c: CpuId,
        round: &Round,
        hierarchy: &'h Hierarchy,
        level: &Level,
    ) -> (Groups, Option<&'h Group>) {
        let mut all = Groups::default();
        all.busiest.idle_cpus = u32::MAX;
        let mut busiest: Option<&Group> = None;
        for group in hierarchy.groups(level) {
            let is_local = group.cpus.contains(round.to);
            if is_local && round.level == 0 {
                self.update_capacity(round);
            }
            let stats = self.balance_stats(c, round, level, group, is_local, &mut all);
            if let Some(considered) = &mut self.fair.considered {
                considered.group(&group.cpus, &stats, is_local);
            }
            if is_local {
                (all.local, all.is_core[0]) = (stats, group.is_core());
            } else if self.is_busier(round, level, group, &stats, &all, busiest) {
                (all.busiest, all.is_core[1]) = (stats, group.is_core());
                all.prefers_sibling = group.prefers_sibling();
                busiest = Some(group);
            }
            all.load += stats.load;
            all.capacity += stats.capacity;
            all.util += stats.util;
        }
        (all, busiest)
    }

    /// `update_sg_lb_stats()`.
    fn balance_stats(
        &mut self,
        c: CpuId,
        round: &Round,
        level: &Level,
        group: &Group,
        is_local: bool,
        all: &mut Groups,
    ) -> Stats {
        let mut stats = Stats {
            cpus: group.weight,
            cores: group.cores,
            least_capacity: u64::MAX,
            is_imbalanced: self.is_imbalanced(level, group),
            ..Stats::default()
        };
        let heeds_energy = self.heeds_energy();
        for cpu in group.cpus.iter_from(group.lowest) {
            stats.add_capacity(self.capacity_left(cpu));
            if !round.cpus.contains(cpu) {
                continue;
            }
            self.look_at(c, cpu, Visit::Sum);
            let tasks = self.add_queue(cpu, &mut stats);
            all.has_crowd |= tasks > 1;
            all.has_overuse |= heeds_energy && self.is_overused(cpu);
            if tasks == 0 && self.is_vacant(cpu) {
                stats.idle_cpus += 1;
            } else if !is_local && level.is_uneven {
                let misfit = self.misfit_load(cpu);
                stats.misfit = stats.misfit.max(misfit);
                all.has_crowd |= misfit > 0;
            } else if !is_local && round.idleness != Idleness::Busy && self.is_alone_beside_rt(cpu, level) {
                stats.misfit = stats.misfit.max(self.cpu_load(cpu));
            }
        }
        self.charge_visit(c, Visit::Group);
        stats.is_shared_core =
            !is_local && round.idleness != Idleness::Busy && group.is_core() && stats.fair_tasks > 1;
        stats.classify(level.imbalance_pct);
        if stats.kind == GroupClass::Overloaded {
            stats.mean = stats.load_for_capacity();
        }
        stats
    }

    /// Adds what the CPU's queue counts. Returns the number of its tasks.
    #[inline(always)]
    fn add_queue(&self, cpu: CpuId, stats: &mut Stats) -> u32 {
        let load = &self.fair.loads[cpu.index()];
        stats.load += load.queue.avg.load;
        stats.runnable += load.queue.avg.runnable;
        stats.util += load.queue.avg.util.max(load.estimate).min(self.capacity(cpu));
        let cpu = &self.cpus[cpu];
        let (tasks, fair_tasks) = (cpu.nr_tasks(), cpu.fair.len());
        stats.fair_tasks += fair_tasks;
        stats.tasks += tasks;
        tasks
    }

    /// Returns whether balancing below the group has failed because of tasks' affinity (`sg_imbalanced()`).
    fn is_imbalanced(&self, level: &Level, group: &Group) -> bool {
        let imbalanced = &self.fair.imbalanced;
        !imbalanced.is_empty() && imbalanced.contains(&(level.number, group.first_balancer()))
    }

    /// Returns whether the CPU has a single fair task and reduced capacity for it (`sched_reduced_capacity()`). With
    /// several tasks, the imbalance is noticed anyway.
    fn is_alone_beside_rt(&self, cpu: CpuId, level: &Level) -> bool {
        self.cpus[cpu].fair.len() == 1 && self.is_reduced(cpu, level.imbalance_pct)
    }

    /// Returns the load of the CPU's running task if the CPU is too slow for it, or else 0 (`update_misfit_status()`).
    pub(super) fn misfit_load(&self, cpu: CpuId) -> u64 {
        let Some(curr) = self.fair_curr(cpu).filter(|_| self.is_uneven()) else { return 0 };
        let capacity = self.capacity(cpu);
        let is_better = |other: CpuId| self.capacity(other) > capacity;
        let could_gain = self.tasks[curr].cpus.iter().any(is_better);
        match could_gain && !self.task_fits(curr, cpu) {
            true => self.task_load(curr).max(1),
            false => 0,
        }
    }

    /// Returns whether a group is busier than the busiest one so far (`update_sd_pick_busiest()`).
    fn is_busier(
        &self,
        round: &Round,
        level: &Level,
        group: &Group,
        stats: &Stats,
        all: &Groups,
        so_far: Option<&Group>,
    ) -> bool {
        let own = self.capacity_left(round.to);
        if stats.fair_tasks == 0 {
            return false;
        }
        let is_hopeless = !is_greater(own, stats.most_capacity)
            || all.local.kind != GroupClass::HasSpare
            || !self.is_core_vacant_beside(round.to);
        if level.is_uneven && stats.kind == GroupClass::Misfit && is_hopeless {
            return false;
        }
        let best = &all.busiest;
        if stats.kind != best.kind {
            return stats.kind > best.kind;
        }
        let was_core = so_far.is_some_and(Group::is_core);
        let is_chosen = match stats.kind {
            GroupClass::Overloaded => stats.mean > best.mean,
            GroupClass::Imbalanced => false,
            GroupClass::Misfit => stats.misfit > best.misfit,
            GroupClass::SmtBalance if stats.idle_cpus != 0 || best.idle_cpus != 0 => {
                has_less_spare(stats, best)
            }
            GroupClass::SmtBalance | GroupClass::FullyBusy => !was_core,
            GroupClass::HasSpare if so_far.is_some() && was_core != group.is_core() => {
                !group.is_core() || stats.fair_tasks > 1
            }
            GroupClass::HasSpare => has_less_spare(stats, best),
        };
        let is_faster =
            level.is_uneven && stats.kind <= GroupClass::FullyBusy && is_greater(stats.least_capacity, own);
        is_chosen && !is_faster
    }

    /// Stores what the comparison of a level's groups tells about it: how many CPUs searches of the LLC scan
    /// (`update_idle_cpu_scan()`), and whether any task on the machine waits (`set_rd_overloaded()`).
    fn note_level(&mut self, round: &Round, level: &Level, groups: &Groups) {
        let hierarchy = round.hierarchy.clone();
        if round.level + 1 == hierarchy.levels(round.to).len() {
            self.fair.is_overloaded = groups.has_crowd;
            self.fair.is_overused = groups.has_overuse;
        } else {
            self.fair.is_overused |= groups.has_overuse;
        }
        let is_cache = hierarchy.cache(round.to).is_some_and(|cache| cache.weight == level.weight);
        if round.idleness != Idleness::NewlyIdle && is_cache {
            let llc = self.machine.topology.place(round.to).llc.index();
            self.fair.caches[llc].idle_scan = Some(idle_scan(level.weight, groups.util, level.imbalance_pct));
        }
    }

    /// Returns the CPU of the busiest group to take tasks from (`sched_balance_find_src_rq()`).
    fn busiest_cpu(&mut self, c: CpuId, round: &Round, level: &Level, group: &Group) -> Option<CpuId> {
        let mut best: Option<(CpuId, u64, u64)> = None;
        for cpu in group.cpus.and(&round.cpus).iter() {
            self.look_at(c, cpu, Visit::Source);
            let (tasks, capacity) = (self.cpus[cpu].fair.len(), self.capacity_left(cpu));
            let is_no_gain = !is_greater(self.capacity_left(round.to), capacity);
            if tasks == 0 || level.is_uneven && is_no_gain && tasks == 1 {
                continue;
            }
            // How busy the CPU is, relative to its capacity.
            let (amount, scale) = match round.moves {
                Moves::Load
                    if tasks == 1
                        && self.cpu_load(cpu) as i64 > round.imbalance
                        && !self.is_reduced(cpu, level.imbalance_pct) =>
                {
                    continue;
                }
                Moves::Load => (self.cpu_load(cpu), capacity),
                Moves::Util if tasks <= 1 => continue,
                Moves::Util => (self.cpu_util_boosted(cpu), 1),
                Moves::Tasks => (u64::from(tasks), 1),
                Moves::Misfit => (self.misfit_load(cpu), 1),
            };
            let is_more = best.map_or(amount > 0, |(_, most, of)| amount * of > most * scale);
            if is_more {
                best = Some((cpu, amount, scale));
            }
        }
        best.map(|(cpu, ..)| cpu)
    }
}

fn has_less_spare(stats: &Stats, best: &Stats) -> bool {
    stats.idle_cpus < best.idle_cpus || stats.idle_cpus == best.idle_cpus && stats.tasks > best.tasks
}

impl Groups {
    /// Returns how much should move and in which unit, or `None` if nothing should (the end of
    /// `sched_balance_find_src_group()`).
    fn imbalance(mut self, idleness: Idleness, level: &Level) -> Option<(Moves, u64)> {
        let (local, busiest) = (self.local, self.busiest);
        if matches!(busiest.kind, GroupClass::Misfit | GroupClass::Imbalanced) {
            return Some(self.amount(idleness, level));
        }
        if local.kind > busiest.kind {
            return None;
        }
        if local.kind == GroupClass::Overloaded {
            let mean = self.mean();
            let is_even = 100 * busiest.mean <= level.imbalance_pct * local.mean;
            if local.mean >= busiest.mean || local.mean >= mean || is_even {
                return None;
            }
        }
        let prefers = self.prefers_sibling && local.kind == GroupClass::HasSpare;
        if prefers && self.between_siblings(idleness) > 1 {
            return Some(self.amount(idleness, level));
        }
        if busiest.kind != GroupClass::Overloaded {
            if idleness == Idleness::Busy {
                return None;
            }
            let is_forced = busiest.kind == GroupClass::SmtBalance && self.is_core[0] != self.is_core[1];
            if !is_forced {
                let is_even = busiest.cpus > 1 && local.idle_cpus <= busiest.idle_cpus + 1;
                if is_even || busiest.fair_tasks == 1 {
                    return None;
                }
            }
        }
        Some(self.amount(idleness, level))
    }

    fn mean(&self) -> u64 {
        self.load * ONE / self.capacity.max(1)
    }

    /// `calculate_imbalance()`.
    fn amount(&mut self, idleness: Idleness, level: &Level) -> (Moves, u64) {
        let (local, busiest) = (&mut self.local, &self.busiest);
        match busiest.kind {
            GroupClass::Misfit if level.is_uneven => return (Moves::Misfit, 1),
            GroupClass::Misfit => return (Moves::Load, busiest.misfit),
            GroupClass::SmtBalance | GroupClass::Imbalanced => return (Moves::Tasks, 1),
            _ => {}
        }
        if local.kind == GroupClass::HasSpare {
            if busiest.kind > GroupClass::FullyBusy && !level.shares_cache() {
                let room = local.capacity.max(local.util) - local.util;
                return match room {
                    0 if idleness != Idleness::Busy => (Moves::Tasks, 1),
                    room => (Moves::Util, room),
                };
            }
            let mut tasks = match busiest.cpus == 1 || self.prefers_sibling {
                true => self.between_siblings(idleness),
                false => u64::from(local.idle_cpus.saturating_sub(busiest.idle_cpus)),
            };
            if level.is_numa() {
                let running = u64::from(self.local.tasks) + 1;
                tasks = allowed_between_nodes(tasks, running, level.numa_allowance);
            }
            return (Moves::Tasks, tasks / 2);
        }
        if local.kind < GroupClass::Overloaded {
            local.mean = local.load_for_capacity();
            let (own, busiest, mean) = (local.mean, busiest.mean, self.mean());
            if own >= busiest || own >= mean {
                return (Moves::Load, 0);
            }
        }
        let mean = self.mean();
        let too_much = self.busiest.mean.saturating_sub(mean) * self.busiest.capacity;
        let too_little = mean.saturating_sub(self.local.mean) * self.local.capacity;
        (Moves::Load, too_much.min(too_little) / ONE)
    }

    /// Returns by how many tasks two groups differ, relative to their numbers of cores (`sibling_imbalance()`).
    fn between_siblings(&self, idleness: Idleness) -> u64 {
        let (local, busiest) = (&self.local, &self.busiest);
        if idleness == Idleness::Busy || busiest.tasks == 0 {
            return 0;
        }
        let (own_cores, their_cores) = (u64::from(local.cores), u64::from(busiest.cores));
        let (own, theirs) = (u64::from(local.tasks), u64::from(busiest.tasks));
        if own_cores == their_cores {
            return theirs.saturating_sub(own);
        }
        let cores = own_cores + their_cores;
        let weighted = (own_cores * theirs).saturating_sub(their_cores * own);
        match (2 * weighted + cores) / cores {
            0 | 1 if own == 0 && theirs > 1 => 2,
            imbalance => imbalance,
        }
    }
}

#[cfg(test)]
#[path = "busiest_tests.rs"]
mod tests;
