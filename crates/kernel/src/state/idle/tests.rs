use super::*;
use keel_abi::CpuSet;
use keel_abi::scx::{pick_idle, wake};
use proptest::prelude::*;

fn c(cpu: u32) -> CpuId {
    CpuId(cpu)
}

fn set(list: &str) -> CpuSet {
    list.parse().expect("a CPU list")
}

fn masks(topology: &Topology, idle: &str) -> IdleMasks {
    let mut masks = IdleMasks::new(topology);
    for cpu in set(idle).iter() {
        masks.set_idle(cpu, true);
    }
    masks
}

fn words(list: &[u64]) -> String {
    CpuSet::from_words(list).to_string()
}

/// A waking task of CPU 0 that may run anywhere.
fn waking<'a>(prev: u32, cpus: &'a CpuSet) -> SelectCpu<'a> {
    SelectCpu {
        on: c(0),
        prev: c(prev),
        wake_flags: wake::TTWU,
        waker_queue_empty: true,
        waker_exits: false,
        cpus: cpus.words(),
        allowed: None,
        flags: 0,
    }
}

#[test]
fn taking_a_cpu_takes_its_core_out_of_the_smt_mask() {
    let mut masks = masks(&Topology::regular(1, 1, 4, 2), "0-3");
    assert_eq!((words(masks.cpu_words()), words(masks.smt_words())), ("0-3".into(), "0-3".into()));
    assert!(masks.test_and_clear(c(1)));
    assert_eq!((words(masks.cpu_words()), words(masks.smt_words())), ("0,2-3".into(), "2-3".into()));
    assert!(!masks.test_and_clear(c(1)));
    masks.set_idle(c(1), true);
    assert_eq!(words(masks.smt_words()), "0-3");
    masks.set_idle(c(2), false);
    assert_eq!((words(masks.cpu_words()), words(masks.smt_words())), ("0-1,3".into(), "0-1".into()));
}

#[test]
fn siblings_may_be_far_apart_in_number() {
    let place = |cpu: u32| keel_abi::topology::Place {
        core: keel_abi::CoreId(cpu % 64),
        llc: keel_abi::LlcId(0),
        node: NodeId(0),
    };
    let topology = Topology::new((0..128).map(place).collect(), vec![vec![0]]);
    let mut masks = masks(&topology, "3,66-67");
    assert_eq!(words(masks.smt_words()), "3,67");
    let all = CpuSet::first(128);
    assert_eq!(masks.pick_idle(c(0), all.words(), None, 0), Some(c(3)));
    assert_eq!(masks.pick_idle(c(0), all.words(), None, pick_idle::CORE), None);
    assert_eq!(masks.pick_idle(c(0), all.words(), None, 0), Some(c(66)));
}

#[test]
fn without_smt_the_smt_mask_is_the_cpu_mask() {
    let mut masks = masks(&Topology::flat(4), "1-2");
    assert_eq!(words(masks.smt_words()), "1-2");
    assert_eq!(masks.pick_idle(c(0), &[u64::MAX], None, pick_idle::CORE), Some(c(1)));
}

#[test]
fn plain_masks_change_like_others_and_are_not_plain_once_shown() {
    let mut plain = masks(&Topology::regular(1, 1, 4, 1), "1-2");
    assert!(plain.is_plain());
    let mut other = plain.clone();
    other.show();
    assert!(!other.is_plain());
    for (cpu, idle) in [(0, true), (1, false), (2, true), (2, false)] {
        plain.set_plainly(c(cpu), idle);
        other.set_idle(c(cpu), idle);
        assert_eq!(plain.cpu_words(), other.cpu_words());
    }
    let claimed = [0, 1].map(|cpu| (plain.claims_plainly(c(cpu)), other.test_and_clear(c(cpu))));
    assert_eq!(claimed, [(true, true), (false, false)]);
    assert_eq!(plain.cpu_words(), other.cpu_words());
    assert!(!masks(&Topology::regular(1, 1, 2, 2), "").is_plain());
}

#[test]
fn at_enable_all_online_cpus_count_as_idle() {
    let mut masks = IdleMasks::new(&Topology::regular(1, 1, 2, 2));
    masks.set_online(c(3), false);
    masks.set_all(true);
    assert_eq!((words(masks.cpu_words()), words(masks.smt_words())), ("0-2".into(), "0-2".into()));
    masks.set_all(false);
    assert!(!masks.any_idle());
}

#[test]
fn picks_go_around_the_set() {
    for cpus in [8, 200] {
        let mut masks = masks(&Topology::flat(cpus), "");
        let all = CpuSet::first(cpus);
        let mut picks = Vec::new();
        for _ in 0..cpus + 1 {
            masks.set_all(true);
            picks.push(masks.pick_idle(c(0), all.words(), None, 0).unwrap().0);
        }
        let expected: Vec<_> = (1..cpus).chain([0, 1]).collect();
        assert_eq!(picks, expected, "each CPU of the searcher's turn, from the one after 0");
        assert_eq!(masks.pick_idle(c(5), all.words(), None, 0), Some(c(2)), "others have their own turn");
    }
}

#[test]
fn pick_any_takes_an_idle_cpu_or_else_any() {
    let mut masks = masks(&Topology::flat(8), "6");
    let allowed = set("4-7");
    let mut any = |tracked| masks.pick_any(c(0), allowed.words(), None, 0, tracked).map(|c| c.0);
    assert_eq!([any(true), any(true), any(true)], [Some(6), Some(7), Some(4)]);
    assert_eq!([any(false), any(false)], [Some(5), Some(6)]);
    assert_eq!(masks.pick_any(c(0), &[0], None, 0, true), None);
}

#[test]
fn masks_per_node_are_searched_by_distance() {
    let mut topology = Topology::regular(3, 1, 2, 1);
    let places = topology.iter().map(|c| topology.place(c)).collect();
    topology = Topology::new(places, vec![vec![0, 2, 1], vec![2, 0, 1], vec![1, 1, 0]]);
    let mut masks = masks(&topology, "2-5");
    masks.set_per_node(true);
    let all = CpuSet::first(6);
    let mut pick = |flags| masks.pick_idle(c(0), all.words(), Some(NodeId(0)), flags).map(|c| c.0);
    assert_eq!(pick(pick_idle::IN_NODE), None);
    assert_eq!([pick(0), pick(0), pick(0), pick(0), pick(0)], [Some(4), Some(5), Some(2), Some(3), None]);
    let any = masks.pick_any(c(1), all.words(), Some(NodeId(1)), pick_idle::IN_NODE, true);
    assert_eq!(any, Some(c(2)), "any CPU of the node");
}

/// One choice: on this machine with these CPUs idle, for a task that last ran on `prev`.
fn check(topology: &Topology, idle: &str, prev: u32, expected: Option<u32>) {
    let all = CpuSet::first(topology.cpus());
    let mut masks = masks(topology, idle);
    let chosen = masks.select_cpu_dfl(&waking(prev, &all));
    assert_eq!(chosen.map(|c| c.0), expected, "idle {idle}, prev {prev}");
    if let Some(chosen) = chosen {
        assert!(!masks.is_idle(chosen), "the chosen CPU is taken");
    }
}

#[test]
fn the_choice_goes_outwards_from_the_last_cpu() {
    // Two nodes, each with two caches of two cores with two threads.
    let t = Topology::regular(2, 2, 2, 2);
    check(&t, "", 9, None);
    check(&t, "0-15", 9, Some(9)); // its own core is wholly idle
    check(&t, "0-7,9-15", 8, Some(10)); // a whole core in the cache rather than its sibling
    check(&t, "0-7,9,12-15", 8, Some(12)); // ... in the node
    check(&t, "0-1,9,13", 8, Some(1)); // ... anywhere, from CPU 1 on
    check(&t, "1,8-8,13", 8, Some(8)); // no whole core: itself
    check(&t, "1,9,11,13", 8, Some(9)); // its sibling
    check(&t, "1,11,13", 8, Some(11)); // its cache
    check(&t, "1,13", 8, Some(13)); // its node
    check(&t, "1", 8, Some(1)); // anywhere
}

#[test]
fn caches_and_nodes_are_searched_only_where_they_differ() {
    let by = |t: &Topology| {
        let shape = &IdleMasks::new(t).shape;
        (shape.by_llc, shape.by_node)
    };
    assert_eq!(by(&Topology::flat(8)), (false, false));
    assert_eq!(by(&Topology::regular(1, 2, 4, 1)), (true, false), "one node is no node");
    assert_eq!(by(&Topology::regular(2, 1, 4, 1)), (true, false), "nodes are just the caches");
    assert_eq!(by(&Topology::regular(2, 2, 4, 1)), (true, true));
    assert_eq!(by(&Topology::regular(2, 4, 1, 1)), (false, true), "a cache of one CPU is none");
    let mut masks = IdleMasks::new(&Topology::regular(1, 2, 2, 1));
    masks.set_online(c(2), false);
    masks.set_online(c(3), false);
    assert!(!masks.shape.by_llc, "all online CPUs share one cache");
}

#[test]
fn a_sleeping_waker_may_give_its_own_cpu() {
    let t = Topology::regular(1, 2, 2, 1);
    let all = CpuSet::first(4);
    let sync = |prev| SelectCpu { wake_flags: wake::SYNC, ..waking(prev, &all) };
    let choose = |idle: &str, task: SelectCpu<'_>| masks(&t, idle).select_cpu_dfl(&task).map(|c| c.0);
    assert_eq!(choose("1-3", sync(1)), Some(1), "the last CPU, idle and in the waker's cache");
    assert_eq!(choose("1-3", sync(2)), Some(0), "else the waker's");
    assert_eq!(choose("", sync(2)), None, "unless the machine is full");
    assert_eq!(choose("1-3", SelectCpu { waker_queue_empty: false, ..sync(2) }), Some(2));
    assert_eq!(choose("1-3", SelectCpu { waker_exits: true, ..sync(2) }), Some(2));
    let confined = set("1-3");
    assert_eq!(choose("1-3", SelectCpu { cpus: confined.words(), ..sync(2) }), Some(2));
}

#[test]
fn the_choice_stays_within_what_is_allowed() {
    let t = Topology::regular(1, 2, 2, 2);
    let (own, given) = (set("0-5"), set("4-7"));
    let task = |flags| SelectCpu { allowed: Some(given.words()), flags, ..waking(0, &own) };
    let choose = |idle: &str, flags| masks(&t, idle).select_cpu_dfl(&task(flags)).map(|c| c.0);
    assert_eq!(choose("0-7", 0), Some(4));
    assert_eq!(choose("0-3,5-7", 0), Some(5));
    assert_eq!(choose("0-3,5,6", pick_idle::CORE), None);
    assert_eq!(choose("0-3,6-7", 0), None, "6 is not the task's own");
    let mut pinned = masks(&t, "0,4");
    assert_eq!(pinned.select_pinned(&task(0)), None);
    assert_eq!(pinned.select_pinned(&SelectCpu { prev: c(4), ..task(0) }), Some(c(4)));
    assert_eq!(pinned.select_pinned(&SelectCpu { prev: c(4), ..task(0) }), None);
}

proptest! {
    /// Words and bits always agree: a core is fully idle exactly if it became so by `set_idle` and none of its CPUs has
    /// been claimed since; a picked CPU is idle and allowed, and not idle afterwards.
    #[test]
    fn masks_agree_with_single_bits(
        shape in prop_oneof![Just((1, 1, 4, 2)), Just((2, 2, 2, 2)), Just((1, 3, 50, 1)), Just((2, 1, 40, 2))],
        acts in prop::collection::vec((0..5u8, any::<u32>(), any::<u64>()), 0..200),
    ) {
        let topology = Topology::regular(shape.0, shape.1, shape.2, shape.3);
        let mut masks = IdleMasks::new(&topology);
        let (mut idle, nobody) = (vec![false; topology.cpus() as usize], CpuSet::new());
        for (act, number, seed) in acts {
            let cpu = CpuId(number % topology.cpus());
            let on = CpuId((number >> 16) % topology.cpus());
            let allowed = [seed, seed.rotate_left(17), seed.rotate_left(40)];
            let may = |c: CpuId| allowed[c.index() / 64] >> (c.0 % 64) & 1 == 1;
            let exists = topology.iter().any(|c| idle[c.index()] && may(c));
            match act {
                0 | 1 => {
                    masks.set_idle(cpu, act == 0);
                    idle[cpu.index()] = act == 0;
                }
                2 => {
                    assert_eq!(masks.test_and_clear(cpu), idle[cpu.index()]);
                    idle[cpu.index()] = false;
                }
                _ => {
                    let picked = if act == 3 {
                        masks.pick_idle(on, &allowed, None, 0)
                    } else {
                        let task = SelectCpu { prev: cpu, on, cpus: &allowed, ..waking(0, &nobody) };
                        masks.select_cpu_dfl(&task)
                    };
                    assert_eq!(picked.is_some(), exists);
                    if let Some(picked) = picked {
                        assert!(may(picked) && std::mem::take(&mut idle[picked.index()]));
                    }
                }
            }
            let expected: CpuSet = topology.iter().filter(|c| idle[c.index()]).collect();
            assert_eq!(&CpuSet::from_words(masks.cpu_words()), &expected);
            assert!(CpuSet::from_words(masks.smt_words()).is_subset(&expected));
        }
    }
}
