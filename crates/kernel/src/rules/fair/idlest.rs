//! Selects a CPU for a new task, or for a task that executes a program: goes down the sched domains, at each level to
//! the idlest group and there to its idlest CPU (`sched_balance_find_dst_cpu()`).

use crate::rules::fair::cost::Visit;
use crate::rules::fair::stats::{Stats, allowed_between_nodes};
use crate::state::domains::groups::{Group, Level};
use crate::state::fair::pelt::ONE;
use crate::state::kernel::Kernel;
use keel_abi::scx::wake;
use keel_abi::{CpuId, TaskId};
use keel_trace::policy::GroupClass;

impl Kernel {
    /// Returns the CPU for a task that runs on `c` or was created there.
    pub(super) fn spread(&mut self, c: CpuId, task: TaskId, prev: CpuId, flags: u64) -> CpuId {
        let hierarchy = self.hierarchy();
        let takes = |level: &&Level| match flags & wake::FORK != 0 {
            true => level.balances_fork(),
            false => level.balances_exec(),
        };
        let Some(mut level) = hierarchy.levels(c).iter().take_while(takes).last() else { return prev };
        if !level.span.intersects(&self.tasks[task].cpus) {
            return prev;
        }
        let mut chosen = c;
        loop {
            let group = self.idlest_group(c, task, chosen, level);
            let new = group.map(|group| self.idlest_in(c, task, chosen, &group));
            let below = match new.filter(|&new| new != chosen) {
                Some(new) => {
                    chosen = new;
                    hierarchy.levels(new).iter().take_while(|l| l.weight < level.weight).filter(takes).last()
                }
                // At a lower level of the same CPU.
                None => hierarchy
                    .levels(chosen)
                    .iter()
                    .take_while(|l| l.number < level.number)
                    .filter(takes)
                    .last(),
            };
            match below {
                Some(below) => level = below,
                None => return chosen,
            }
        }
    }

    /// Returns the idlest group, unless that is the group of `cpu` (`sched_balance_find_dst_group()`).
    fn idlest_group(&mut self, c: CpuId, task: TaskId, cpu: CpuId, level: &Level) -> Option<Group> {
        let hierarchy = self.hierarchy();
        let mut local: Option<Stats> = None;
        let mut local_allowed = 0;
        let mut idlest: Option<(&Group, Stats)> = None;
        for group in hierarchy.groups(level) {
            let allowed = group.cpus.and(&self.tasks[task].cpus);
            if allowed.is_empty() {
                continue;
            }
            let stats = self.wakeup_stats(c, task, group, level);
            if group.cpus.contains(cpu) {
                local = Some(stats);
                local_allowed = allowed.len() as u64;
            } else if idlest.as_ref().is_none_or(|(_, best)| is_idler(&stats, best)) {
                idlest = Some((group, stats));
            }
        }
        let (group, idlest) = idlest?;
        let Some(local) = local else { return Some(group.clone()) };
        let is_confined = self.tasks[task].nr_allowed < self.cpus.len() as u32;
        let allowance = match is_confined {
            true => local_allowed.min(level.numa_allowance),
            false => level.numa_allowance,
        };
        goes_there(&local, &idlest, level, allowance).then(|| group.clone())
    }

    /// Returns a group's statistics without the task (`update_sg_wakeup_stats()`).
    fn wakeup_stats(&mut self, c: CpuId, task: TaskId, group: &Group, level: &Level) -> Stats {
        let mut stats = Stats {
            cpus: group.weight,
            cores: group.cores,
            misfit: u64::from(level.is_uneven),
            least_capacity: u64::MAX,
            ..Stats::default()
        };
        for cpu in group.cpus.iter() {
            stats.add_capacity(self.capacity_left(cpu));
            if !self.tasks[task].allows(cpu) {
                continue;
            }
            self.look_at(c, cpu, Visit::Sum);
            let (load, runnable, util) = self.cpu_without(cpu, task);
            let own = u32::from(self.tasks[task].cpu == cpu && self.tasks[task].is_on_rq());
            let tasks = self.nr_running(cpu).saturating_sub(own);
            stats.load += load;
            stats.runnable += runnable;
            stats.util += util;
            stats.tasks += tasks;
            stats.fair_tasks += self.cpus[cpu].fair.len().saturating_sub(own);
            let curr = self.cpus[cpu].curr;
            stats.idle_cpus += u32::from(tasks == 0 && (curr.is_idle() || curr == task));
            if level.is_uneven && self.task_fits(task, cpu) {
                stats.misfit = 0;
            }
        }
        self.charge_visit(c, Visit::Group);
        stats.classify(level.imbalance_pct);
        if matches!(stats.kind, GroupClass::FullyBusy | GroupClass::Overloaded) {
            stats.mean = stats.load_for_capacity();
        }
        stats
    }

    /// Returns the CPU of a group that became idle last or, if none is idle, the one with the least load
    /// (`sched_balance_find_dst_group_cpu()`).
    fn idlest_in(&mut self, c: CpuId, task: TaskId, cpu: CpuId, group: &Group) -> CpuId {
        if group.weight == 1 {
            return group.first_balancer();
        }
        let (mut idle, mut loaded) = (None, None);
        for other in group.cpus.and(&self.tasks[task].cpus).iter() {
            self.look_at(c, other, Visit::Idle);
            if !self.is_vacant(other) && self.is_free_for(task, other) {
                return other;
            }
            if self.is_vacant(other) {
                let since = self.fair.idle_times[other.index()].since();
                if idle.is_none_or(|(latest, _)| since > latest) {
                    idle = Some((since, other));
                }
            } else if idle.is_none() {
                let load = self.cpu_load(other);
                if loaded.is_none_or(|(least, _)| load < least) {
                    loaded = Some((load, other));
                }
            }
        }
        idle.map(|(_, cpu)| cpu).or(loaded.map(|(_, cpu)| cpu)).unwrap_or(cpu)
    }
}

/// Returns whether a group is idler than the idlest so far (`update_pick_idlest()`).
fn is_idler(stats: &Stats, best: &Stats) -> bool {
    if stats.kind != best.kind {
        return stats.kind < best.kind;
    }
    match stats.kind {
        GroupClass::Overloaded | GroupClass::FullyBusy => stats.mean < best.mean,
        GroupClass::Misfit => stats.most_capacity > best.most_capacity,
        GroupClass::HasSpare => {
            stats.idle_cpus > best.idle_cpus || stats.idle_cpus == best.idle_cpus && stats.util < best.util
        }
        GroupClass::SmtBalance | GroupClass::Imbalanced => false,
    }
}

/// Returns whether another group is so much idler that the task leaves its own (`sched_balance_find_dst_group()`).
fn goes_there(local: &Stats, idlest: &Stats, level: &Level, allowance: u64) -> bool {
    if local.kind != idlest.kind {
        return local.kind > idlest.kind;
    }
    match local.kind {
        GroupClass::Overloaded | GroupClass::FullyBusy => {
            let imbalance = ONE * (level.imbalance_pct - 100) / 100;
            let is_near = !level.is_numa() || idlest.mean + imbalance < local.mean;
            is_near
                && idlest.mean < local.mean + imbalance
                && 100 * local.mean > level.imbalance_pct * idlest.mean
        }
        GroupClass::Misfit => local.most_capacity < idlest.most_capacity,
        GroupClass::HasSpare => {
            let imbalance = u64::from(local.idle_cpus.abs_diff(idlest.idle_cpus));
            let is_allowed = level.is_numa()
                && allowed_between_nodes(imbalance, u64::from(local.tasks) + 1, allowance) == 0;
            !is_allowed && local.idle_cpus < idlest.idle_cpus
        }
        GroupClass::SmtBalance | GroupClass::Imbalanced => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `update_pick_idlest()`.
    #[test]
    fn the_idlest_group_has_the_most_idle_cpus_then_the_least_use() {
        let spare = |idle_cpus, util| Stats { idle_cpus, util, ..Stats::default() };
        let busy = |mean| Stats { kind: GroupClass::Overloaded, mean, ..Stats::default() };
        let check =
            |stats, best, expected| assert_eq!(is_idler(&stats, &best), expected, "{stats:?} {best:?}");
        check(spare(3, 500), spare(2, 100), true);
        check(spare(2, 100), spare(2, 101), true);
        check(spare(2, 101), spare(2, 101), false);
        check(spare(0, 900), busy(1), true);
        check(busy(1), spare(0, 900), false);
        check(busy(1), busy(2), true);
        check(busy(2), busy(2), false);
    }
}
