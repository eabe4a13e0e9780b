//! Infers limits of cgroups (`cpu.max`) from their effects: from one refill to the next, a group that was throttled in
//! between used up its quota, and its tasks run again when the period is over (`do_sched_cfs_period_timer()`).

use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, WEIGHT_DFL};
use keel_abi::task::TaskSpec;
use keel_abi::{CpuId, Instant, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of periods that are examined.
const MOST: usize = 4096;
/// The minimum number of periods: fewer show nothing.
const FEWEST: usize = 3;
/// The shortest and longest period that the kernel accepts (`min_cfs_quota_period`, `max_cfs_quota_period`).
const LEAST_US: u64 = 1000;
const MOST_US: u64 = 1_000_000;

/// What is known about limits so far.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    groups: BTreeMap<u32, Group>,
    /// The last recorded group of each task, by number.
    of: BTreeMap<u32, u32>,
    /// CPU time of each task, and which task runs where since when.
    used_ns: Vec<u64>,
    running: BTreeMap<CpuId, (u32, Instant)>,
}

#[derive(Debug, Default)]
struct Group {
    members: BTreeSet<u32>,
    /// Whether its quota is used up.
    is_spent: bool,
    /// When it was last refilled, and how much its tasks had used by then.
    refilled: Option<(Instant, u64)>,
    /// The length of each period and the CPU time used in it, in nanoseconds.
    periods: Vec<(u64, u64)>,
}

impl Limits {
    /// Notes that a CPU switches from one task to another.
    pub(crate) fn switch(&mut self, at: Instant, cpu: CpuId, next: Option<u32>) {
        if self.groups.is_empty() {
            // Most recordings have none.
            return;
        }
        self.settle(at, cpu);
        match next {
            Some(next) => drop(self.running.insert(cpu, (next, at))),
            None => drop(self.running.remove(&cpu)),
        }
    }

    fn settle(&mut self, at: Instant, cpu: CpuId) {
        let Some((task, since)) = self.running.get_mut(&cpu) else { return };
        let place = *task as usize;
        if self.used_ns.len() <= place {
            self.used_ns.resize(place + 1, 0);
        }
        self.used_ns[place] = self.used_ns[place].saturating_add(at.since((*since).min(at)).as_ns());
        *since = at;
    }

    /// Notes that a task is throttled by this group's limit, or unthrottled, or joins the group.
    pub(crate) fn throttled(&mut self, at: Instant, task: u32, on: bool, group: u32) {
        if group == 0 {
            return;
        }
        if let Some(before) = self.of.insert(task, group).filter(|&before| before != group)
            && let Some(before) = self.groups.get_mut(&before)
        {
            before.members.remove(&task);
        }
        let own = self.groups.entry(group).or_default();
        own.members.insert(task);
        if on {
            own.is_spent = true;
            return;
        }
        if std::mem::take(&mut own.is_spent) {
            self.refill(at, group);
        }
    }

    fn refill(&mut self, at: Instant, group: u32) {
        let cpus: Vec<CpuId> = self.running.keys().copied().collect();
        cpus.into_iter().for_each(|cpu| self.settle(at, cpu));
        let Some(own) = self.groups.get_mut(&group) else { return };
        let time = |task: &u32| self.used_ns.get(*task as usize).copied().unwrap_or(0);
        let used_ns: u64 = own.members.iter().map(time).sum();
        if let Some((before, used_before_ns)) = own.refilled.replace((at, used_ns))
            && own.periods.len() < MOST
        {
            let period_ns = at.since(before.min(at)).as_ns();
            own.periods.push((period_ns, used_ns.saturating_sub(used_before_ns)));
        }
    }

    /// Returns the groups with known limits, with their tasks, and the number of unknown limits.
    pub(crate) fn groups(&self, specs: &mut [TaskSpec]) -> (Vec<Cgroup>, u64) {
        let (mut cgroups, mut unknown) = (Vec::new(), 0);
        for (&number, group) in &self.groups {
            let Some(bandwidth) = group.bandwidth() else {
                unknown += u64::from(group.is_spent || group.refilled.is_some());
                continue;
            };
            let id = CgroupId::at(cgroups.len());
            for &task in &group.members {
                if let Some(spec) = specs.get_mut(task as usize) {
                    spec.cgroup = Some(id);
                }
            }
            cgroups.push(Cgroup {
                path: format!("/limit-{number}"),
                parent: CgroupId::ROOT,
                is_there: true,
                weight: WEIGHT_DFL,
                bandwidth,
                idle: false,
            });
        }
        (cgroups, unknown)
    }
}

impl Group {
    /// Returns the limit: the most common length of a period, to a millisecond, and the most common use in these.
    fn bandwidth(&self) -> Option<Bandwidth> {
        let period_ns = median(self.periods.iter().map(|period| period.0))?;
        let period_us = Span::from_ns(period_ns + 500_000).as_ns() / 1_000_000 * 1000;
        let is_usual = |length_ns: u64| length_ns.abs_diff(period_ns) * 10 <= period_ns;
        let usual = self.periods.iter().filter(|period| is_usual(period.0));
        if usual.clone().count() < FEWEST || !(LEAST_US..=MOST_US).contains(&period_us) {
            return None;
        }
        let quota_us = median(usual.map(|period| period.1))?.div_ceil(1000).max(LEAST_US);
        Some(Bandwidth { period_us, quota_us, burst_us: 0 })
    }
}

fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut all: Vec<u64> = values.collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the limit inferred if two tasks of a group run on two CPUs for a total of `quota_us` in each of `periods`
    /// periods.
    fn check(periods: u64, period_us: u64, quota_us: u64, expected: Option<(u64, u64)>) {
        let mut limits = Limits::default();
        let at = |us: u64| Instant::ZERO + Span::from_us(us);
        for period in 0..periods {
            let begun = period * period_us;
            for (task, cpu) in [(0, CpuId(0)), (1, CpuId(1))] {
                limits.throttled(at(begun), task, false, 7);
                limits.switch(at(begun), cpu, Some(task));
            }
            for (task, cpu) in [(0, CpuId(0)), (1, CpuId(1))] {
                limits.switch(at(begun + quota_us / 2), cpu, None);
                limits.throttled(at(begun + quota_us / 2), task, true, 7);
            }
        }
        let mut specs = vec![TaskSpec::default(); 3];
        let (cgroups, unknown) = limits.groups(&mut specs);
        let found = cgroups.first().map(|group| (group.bandwidth.period_us, group.bandwidth.quota_us));
        assert_eq!(found, expected);
        assert_eq!(unknown, u64::from(expected.is_none()));
        let member = expected.map(|_| CgroupId::at(0));
        assert_eq!(specs.iter().map(|spec| spec.cgroup).collect::<Vec<_>>(), [member, member, None]);
    }

    #[test]
    fn limits_follow_from_when_groups_are_throttled() {
        check(10, 100_000, 40_000, Some((100_000, 40_000)));
        check(10, 50_000, 60_000, Some((50_000, 60_000)));
        // Too few periods.
        check(3, 100_000, 40_000, None);
    }
}
