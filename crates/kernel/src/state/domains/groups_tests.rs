//! The groups of machines of various shapes.

use super::*;
use crate::state::machine::Machine;

/// Shows a CPU's levels, with the groups of each level, its own first.
fn shown(topology: &Topology, active: &CpuSet, cpu: u32) -> String {
    let hierarchy = Hierarchy::new(topology, active, &[]);
    let group = |group: &Group| {
        let all = group.balancers == group.cpus;
        if all { group.cpus.to_string() } else { format!("{}({})", group.cpus, group.balancers) }
    };
    let level = |level: &Level| hierarchy.groups(level).map(group).collect::<Vec<_>>().join(" ");
    hierarchy.levels(CpuId(cpu)).iter().map(level).collect::<Vec<_>>().join("; ")
}

/// `build_sched_groups()`, `build_overlap_sched_groups()`.
#[test]
fn groups_are_what_the_level_below_spans() {
    let check = |topology: &Topology, cpu, expected: &str| {
        assert_eq!(shown(topology, &CpuSet::first(topology.cpus()), cpu), expected, "CPU {cpu}");
    };
    check(&Topology::flat(1), 0, "");
    check(&Topology::flat(3), 1, "1 2 0");
    check(&Topology::regular(1, 2, 2, 1), 2, "2 3; 2-3 0-1");
    check(&Topology::regular(2, 1, 2, 2), 5, "5 4; 4-5 6-7; 4-7 0-3");
    // Node 0 of the Opteron has nodes 1, 2, 4 and 6 within one hop. The nodes within one hop of node 3 overlap with
    // these.
    let opteron = Machine::built_in("opteron-6272").expect("it comes along").topology;
    let all = shown(&opteron, &CpuSet::first(64), 0);
    let levels: Vec<&str> = all.split("; ").collect();
    assert_eq!(levels[0], "0 1");
    assert_eq!(levels[1], "0-1 2-3 4-5 6-7");
    assert_eq!(levels[2], "0-7 8-15 16-23 32-39 48-55");
    assert!(levels[3].starts_with("0-23,32-39,48-55(0-7) "), "{}", levels[3]);
}

#[test]
fn a_cpu_that_is_off_is_in_no_group() {
    let topology = Topology::regular(1, 1, 2, 2);
    let without: CpuSet = [0, 1, 2].map(CpuId).into_iter().collect();
    assert_eq!(shown(&topology, &without, 0), "0 1; 0-1 2");
    assert_eq!(shown(&topology, &without, 3), "");
}

/// `sd->imb_numa_nr` of `build_sched_domains()`.
#[test]
fn nodes_may_differ_by_some_tasks() {
    let check = |topology: &Topology, expected: &[u64]| {
        let hierarchy = Hierarchy::new(topology, &CpuSet::first(topology.cpus()), &[]);
        let found: Vec<u64> = hierarchy.levels(CpuId(0)).iter().map(|level| level.numa_allowance).collect();
        assert_eq!(found, expected);
    };
    check(&Topology::regular(2, 1, 32, 1), &[0, 4]);
    check(&Topology::regular(2, 8, 8, 1), &[0, 0, 8]);
    check(&Topology::regular(2, 1, 4, 1), &[0, 1]);
    check(&Machine::built_in("opteron-6272").expect("it comes along").topology, &[0, 0, 1, 1]);
}

#[test]
fn a_level_of_unequal_cpus_is_uneven() {
    let topology = Topology::regular(1, 1, 4, 1);
    let uneven = |capacity: &[u16]| {
        Hierarchy::new(&topology, &CpuSet::first(4), capacity).levels(CpuId(0))[0].is_uneven
    };
    assert!(!uneven(&[]) && !uneven(&[512; 4]) && uneven(&[1024, 1024, 512, 512]));
}
