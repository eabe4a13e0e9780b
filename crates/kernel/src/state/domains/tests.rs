use super::build::{Domain, NAMES, domains};
use super::{Domains, flags};
use crate::state::machine::Machine;
use keel_abi::{CpuId, CpuSet, Topology};

/// Shows a CPU's domains, the smallest first: name, level and CPUs.
fn shown(topology: &Topology, active: &CpuSet, cpu: u32) -> String {
    let all = domains(topology, active);
    let show = |d: &Domain| format!("{}@{} {}", NAMES[d.kind.number()], d.level, d.span);
    all[cpu as usize].iter().map(show).collect::<Vec<_>>().join("; ")
}

/// Returns four nodes of one LLC each in a line, each one hop from the next.
fn in_line(cpus_a_node: u32, smt: u32) -> Topology {
    let hops = |a: u32| (0..4).map(|b| a.abs_diff(b) as u8).collect();
    with_hops(&Topology::regular(4, 1, cpus_a_node / smt, smt), (0..4).map(hops).collect())
}

fn with_hops(topology: &Topology, hops: Vec<Vec<u8>>) -> Topology {
    Topology::new(topology.iter().map(|cpu| topology.place(cpu)).collect(), hops)
}

fn without(topology: &Topology, off: &[u32]) -> CpuSet {
    topology.iter().filter(|cpu| !off.contains(&cpu.0)).collect()
}

#[test]
fn every_cpu_sees_its_own_surroundings() {
    let check = |topology: &Topology, off: &[u32], cpu, expected: &str| {
        assert_eq!(shown(topology, &without(topology, off), cpu), expected, "{cpu} without {off:?}");
    };
    let opteron = Machine::built_in("opteron-6272").expect("it comes along").topology;
    // Node 0 has nodes 1, 2, 4 and 6 within one hop, and node 3 has 1, 2, 4, 5 and 7. No two nodes are more than two
    // hops apart.
    check(&opteron, &[], 0, "SMT@0 0-1; MC@2 0-7; NUMA@5 0-23,32-39,48-55; NUMA@6 0-63");
    check(&opteron, &[], 31, "SMT@0 30-31; MC@2 24-31; NUMA@5 8-47,56-63; NUMA@6 0-63");
    check(&opteron, &[31], 30, "MC@2 24-30; NUMA@5 8-30,32-47,56-63; NUMA@6 0-30,32-63");
    check(&opteron, &[31], 31, "");

    check(&Topology::flat(1), &[], 0, "");
    check(&Topology::flat(8), &[], 3, "MC@1 0-7");
    check(&Topology::flat(2), &[1], 0, "");
    // Two LLCs on a node are a package, which has the same CPUs as the node.
    check(&Topology::regular(1, 2, 2, 1), &[], 2, "MC@1 2-3; PKG@2 0-3");
    check(&Topology::regular(2, 2, 2, 1), &[], 2, "MC@1 2-3; PKG@2 0-3; NUMA@4 0-7");
    check(&Topology::regular(2, 1, 2, 2), &[], 5, "SMT@0 4-5; MC@2 4-7; NUMA@5 0-7");
    // As in Linux 7.2.13 on four nodes in a line, with all nodes and without the last.
    let line = in_line(2, 2);
    check(&line, &[], 0, "SMT@0 0-1; NUMA@5 0-3; NUMA@6 0-5; NUMA@7 0-7");
    check(&line, &[], 5, "SMT@0 4-5; NUMA@5 2-7; NUMA@6 0-7");
    check(&line, &[7], 6, "NUMA@5 4-6; NUMA@6 2-6; NUMA@7 0-6");
    check(&line, &[6, 7], 2, "SMT@0 2-3; NUMA@5 0-5");
    check(&line, &[6, 7], 0, "SMT@0 0-1; NUMA@5 0-3; NUMA@6 0-5");
    // A node whose CPUs are all offline adds no distance.
    check(&Topology::regular(2, 1, 2, 1), &[2, 3], 0, "MC@1 0-1");
    let between =
        with_hops(&Topology::regular(3, 1, 2, 1), vec![vec![0, 2, 1], vec![2, 0, 1], vec![1, 1, 0]]);
    check(&between, &[], 0, "MC@1 0-1; NUMA@4 0-1,4-5; NUMA@5 0-5");
    check(&between, &[4, 5], 0, "MC@1 0-1; NUMA@4 0-3");
    check(&Topology::regular(4, 1, 1, 1), &[], 2, "NUMA@4 0-3");
}

#[test]
fn traits_follow_the_kind() {
    let opteron = Machine::built_in("opteron-6272").expect("it comes along").topology;
    let all = domains(&opteron, &CpuSet::first(64));
    let traits: Vec<_> = all[0].iter().map(Domain::traits).collect();
    let told: Vec<_> = traits.iter().map(|t| (t.flags, t.imbalance_pct, t.cache_nice_tries)).collect();
    // As in 7.2 on a machine of two nodes with two threads per core. Two hops are not far.
    assert_eq!(told, [(0x1297, 110, 0), (0x1217, 117, 1), (0x2417, 117, 2), (0x2417, 117, 2)]);
    // Three hops are too far: no task is placed there.
    let far = domains(&in_line(2, 1), &CpuSet::first(8))[0].last().map(Domain::traits).expect("all four");
    assert_eq!(far.flags, flags::BALANCE_NEWIDLE | flags::NUMA | flags::SERIALIZE);
}

#[test]
fn caches_get_the_lowest_number_that_is_free() {
    let topology = Topology::regular(1, 3, 2, 1);
    let mut domains = Domains::new(&topology);
    let ids = |domains: &Domains| {
        domains.llc_ids.iter().map(|id| id.map_or(-1, |id| id as i32)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&domains), [0, 0, 1, 1, 2, 2]);
    let mut plug = |cpu: u32, on: bool| {
        let cpu = CpuId(cpu);
        if !on {
            domains.free_llc_id(cpu);
        }
        assert!(domains.set_active(&topology, cpu, on));
        assert!(!domains.set_active(&topology, cpu, on), "nothing changes twice");
        ids(&domains)
    };
    assert_eq!(plug(2, false), [0, 0, -1, 1, 2, 2]);
    assert_eq!(plug(3, false), [0, 0, -1, -1, 2, 2]);
    assert_eq!(plug(4, false), [0, 0, -1, -1, -1, 2]);
    assert_eq!(plug(5, false), [0, 0, -1, -1, -1, -1]);
    // The first CPU to come online gets the lower id, whichever id its LLC had before.
    assert_eq!(plug(5, true), [0, 0, -1, -1, -1, 1]);
    assert_eq!(plug(2, true), [0, 0, 2, -1, -1, 1]);
    assert_eq!(plug(3, true), [0, 0, 2, 2, -1, 1]);
}
