//! The decision matrix of `sched_balance_find_src_group()`, and the amounts of `calculate_imbalance()`.

use super::*;
use crate::state::domains::groups::Hierarchy;
use keel_abi::{CpuSet, Topology};

fn with_level(nodes: u32, number: usize, check: impl FnOnce(&Level)) {
    let topology = Topology::regular(nodes, 1, 8, 1);
    let hierarchy = Hierarchy::new(&topology, &CpuSet::first(topology.cpus()), &[]);
    check(&hierarchy.levels(CpuId(0))[number]);
}

/// Returns the statistics of a group of eight CPUs with `tasks` tasks, which run on different CPUs where possible.
fn group(tasks: u32, kind: GroupClass) -> Stats {
    let load = u64::from(tasks) * ONE;
    let mut stats = Stats {
        cpus: 8,
        cores: 8,
        capacity: 8 * ONE,
        load,
        util: load.min(8 * ONE),
        runnable: load,
        tasks,
        fair_tasks: tasks,
        idle_cpus: 8_u32.saturating_sub(tasks),
        ..Stats::default()
    };
    stats.classify(117);
    assert_eq!(stats.kind, kind);
    stats.mean = if kind == GroupClass::Overloaded { stats.load_for_capacity() } else { 0 };
    stats
}

fn both(local: Stats, busiest: Stats) -> Groups {
    let (load, capacity) = (local.load + busiest.load, local.capacity + busiest.capacity);
    Groups { local, busiest, load, capacity, ..Groups::default() }
}

#[test]
fn nodes_are_evened_out_by_what_they_lack() {
    use Idleness::{Busy, Idle};
    with_level(2, 1, |level| {
        let check = |local: Stats, busiest: Stats, idleness, expected| {
            let found = both(local, busiest).imbalance(idleness, level).filter(|&(_, amount)| amount > 0);
            assert_eq!(found, expected, "{local:?} {busiest:?}");
        };
        let spare = |tasks| group(tasks, GroupClass::HasSpare);
        let crowd = |tasks| group(tasks, GroupClass::Overloaded);
        check(spare(0), spare(4), Idle, Some((Moves::Tasks, 2)));
        check(spare(0), spare(4), Busy, None);
        check(spare(3), spare(4), Idle, None);
        // A pair may stay together, and there is nothing to move.
        check(spare(0), spare(2), Idle, None);
        check(spare(0), spare(1), Idle, None);
        check(spare(4), crowd(16), Busy, Some((Moves::Util, 4 * ONE)));
        check(group(8, GroupClass::FullyBusy), crowd(16), Busy, Some((Moves::Load, 4 * ONE)));
        check(crowd(12), crowd(20), Busy, Some((Moves::Load, 4 * ONE)));
        check(crowd(16), crowd(18), Busy, None);
        check(crowd(16), crowd(12), Busy, None);
        check(crowd(16), spare(4), Busy, None);
    });
}

#[test]
fn in_a_cache_tasks_are_counted() {
    with_level(1, 0, |level| {
        let cpu = |tasks: u32| {
            let tasks_util = u64::from(tasks.min(1)) * ONE;
            let mut stats = Stats { cpus: 1, cores: 1, capacity: ONE, util: tasks_util, ..Stats::default() };
            (stats.tasks, stats.fair_tasks, stats.idle_cpus) = (tasks, tasks, u32::from(tasks == 0));
            (stats.load, stats.runnable) = (u64::from(tasks) * ONE, u64::from(tasks) * ONE);
            stats.classify(117);
            stats.mean = if stats.kind == GroupClass::Overloaded { stats.load_for_capacity() } else { 0 };
            stats
        };
        let check = |local, busiest, idleness, expected| {
            let found = both(cpu(local), cpu(busiest)).imbalance(idleness, level);
            assert_eq!(found.filter(|&(_, amount)| amount > 0), expected, "{local} {busiest}");
        };
        check(0, 2, Idleness::NewlyIdle, Some((Moves::Tasks, 1)));
        check(0, 5, Idleness::NewlyIdle, Some((Moves::Tasks, 2)));
        check(0, 1, Idleness::NewlyIdle, None);
        check(1, 3, Idleness::Busy, Some((Moves::Load, ONE)));
        check(1, 2, Idleness::Busy, Some((Moves::Load, ONE / 2)));
        check(2, 2, Idleness::Busy, None);
    });
}

/// `sibling_imbalance()`.
#[test]
fn siblings_differ_by_tasks_a_core() {
    let check = |local: (u32, u32), busiest: (u32, u32), expected| {
        let of = |(tasks, cores)| Stats { tasks, cores, ..Stats::default() };
        let groups = both(of(local), of(busiest));
        assert_eq!(groups.between_siblings(Idleness::Idle), expected, "{local:?} {busiest:?}");
        assert_eq!(groups.between_siblings(Idleness::Busy), 0);
    };
    check((1, 2), (5, 2), 4);
    check((5, 2), (1, 2), 0);
    check((0, 1), (2, 2), 2);
    check((0, 1), (1, 2), 1);
    check((0, 2), (6, 1), 9);
    // An idle core helps if there are two tasks, however many cores they share.
    check((0, 1), (2, 4), 2);
}
