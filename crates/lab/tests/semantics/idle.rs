//! Idle CPUs: the kernel's masks, and calls of `ops.update_idle`.

use crate::harness::*;
use keel_abi::task::Policy;

#[test]
fn all_cpus_are_idle_to_begin_with() {
    let run = with("tracer").cpus(4).survives();
    assert_eq!(run.global("idle_mask")[0].value, 0b1111, "as ops.init sees it");
}

#[test]
fn update_idle_comes_after_the_masks_have_changed() {
    let run = with("tracer").cpus(2).task(repeat("a", [run(100), sleep(100)]).on([1])).millis(10).survives();
    let mut last = None;
    let mut seen = 0;
    for (reported, mask) in run.global("update_idle").iter().zip(run.global("idle_mask").iter().skip(1)) {
        assert_eq!(mask.value >> reported.cpu & 1, reported.value, "{}", run.log());
        if reported.cpu == 1 {
            assert_ne!(last.replace(reported.value), Some(reported.value), "in turn");
            seen += 1;
        }
    }
    assert!(seen > 50);
}

/// A task repeatedly wakes on the busy CPU 0, and each time an idle CPU is claimed.
fn claims(kicks: i32) -> Run {
    let base = with("tracer").cpus(2).set("select_this", 0).set("only_pid", 3).set("picks_idle", 1);
    let base = base.set("enqueue_dsq", local_on(0)).set("slice_ns", 1_000_000).set("enqueue_kicks", kicks);
    base.task(hog("x").on([0])).task(repeat("a", [run(100), sleep(3000)]).after_ms(1)).millis(30).survives()
}

#[test]
fn a_claim_lasts_until_the_cpu_goes_idle_again() {
    let kicked = claims(1);
    let picked = kicked.values("a", "picked");
    assert!(
        picked.len() >= 3 && picked.iter().all(|&cpu| cpu == 1),
        "a kick without work gives it back: {picked:?}"
    );
    let reported = kicked.global("update_idle").iter().filter(|c| c.cpu == 1).count();
    assert!(reported <= 1, "and that calls nothing more");
    let alone = claims(-1).values("a", "picked");
    assert_eq!(alone[0], 1);
    assert!(alone[1..].iter().all(|&cpu| cpu as i64 == -16), "EBUSY: {alone:?}");
}

#[test]
fn with_update_idle_alone_there_are_no_masks() {
    let words = "built-in idle tracking is disabled";
    with("own_idle").cpus(2).task(hog("a")).fails(words);
    with("own_idle").cpus(2).set("select_default", 0).set("picks_idle", 1).task(hog("a")).fails(words);
    let run = with("own_idle").cpus(2).set("select_default", 0).task(task("a", [run(100)])).survives();
    assert!(run.global("update_idle").len() >= 2);
}

#[test]
fn a_cpu_whose_task_was_pushed_away_goes_idle_once() {
    let a = repeat("a", [run(100), affinity([1]), run(100), affinity([0])]);
    let run = with("tracer").cpus(2).task(a).millis(10).survives();
    for cpu in [0, 1] {
        let reported: Vec<u64> =
            run.global("update_idle").iter().filter(|c| c.cpu == cpu).map(|c| c.value).collect();
        let in_turn = reported.windows(2).all(|w| w[0] != w[1]);
        assert!(in_turn && reported.len() > 20, "{cpu}: {reported:?} {}", run.log());
    }
}

/// Two nodes of two cores of two threads each; a core's threads are neighbours.
fn two_nodes() -> keel_lab::Machine {
    let text =
        "name = 'm'\n[topology]\nnodes = 2\nllcs_per_node = 1\ncores_per_llc = 2\nthreads_per_core = 2\n";
    keel_lab::machines::read("m.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn masks_of_single_nodes_hold_the_nodes_cpus() {
    let machine = two_nodes();
    let of_node = |node: u32| {
        let cpus = machine.topology.iter().filter(|&c| machine.topology.place(c).node.0 == node);
        cpus.map(|c| 1u64 << c.0).sum::<u64>()
    };
    let core_of = |cpu: u32| {
        let core = machine.topology.place(keel_abi::CpuId(cpu)).core;
        let cpus = machine.topology.iter().filter(|&c| machine.topology.place(c).core == core);
        cpus.map(|c| 1u64 << c.0).sum::<u64>()
    };
    let busy = (0..8).find(|cpu| of_node(1) >> cpu & 1 != 0).expect("the node has CPUs");
    let hog = hog("a").on([busy]);
    let run = with("nodes").on(machine.clone()).task(hog).millis(20).survives();
    let of = |op: &str, node: u32| run.of_node(node, op);
    assert_eq!(of("node_cpus", 0)[0], of_node(0), "all are idle in ops.init");
    assert_eq!(of("node_cores", 1)[0], of_node(1));
    assert_eq!(*of("node_cpus", 1).last().unwrap(), of_node(1) & !(1 << busy), "{}", run.log());
    assert_eq!(
        *of("node_cores", 1).last().unwrap(),
        of_node(1) & !core_of(busy),
        "the core's other thread idles"
    );
    assert_eq!(*of("node_cores", 0).last().unwrap(), of_node(0));
    assert!(of("no_node", 0).iter().all(|&mask| mask == 0), "no node is no error, and has no CPUs");
}

#[test]
fn a_core_is_idle_when_both_of_its_cpus_are_whatever_class_ran_there() {
    // CPUs 1 and 5 are one core.
    let works = |name: &str, cpu, us| repeat(name, [run(us), sleep(130)]).on([cpu]);
    let base = with("smt_idle").on(keel_lab::machines::built_in("laptop-8").expect("it is built in"));
    let base = base.task(works("rt", 1, 100).policy(Policy::Fifo(5))).task(works("a", 5, 170));
    let run = base.task(works("b", 2, 300)).millis(20).survives();
    // In one callback's order on one CPU. Others may go idle meanwhile.
    let reported: Vec<_> =
        run.calls.iter().filter(|c| c.op.starts_with("idle_") || c.op == "smt_mask").collect();
    let of_cpu = |cpu| reported.iter().filter(move |c| c.cpu == cpu).collect::<Vec<_>>();
    let mut seen = [0; 4];
    for three in (0..8).flat_map(|cpu| of_cpu(cpu).chunks_exact(3).map(<[_]>::to_vec).collect::<Vec<_>>()) {
        let [idle, whole, then] = three[..] else { unreachable!("chunks of three") };
        assert_eq!([&idle.op, &whole.op, &then.op], ["idle_mask", "smt_mask", "idle_then"]);
        if idle.value != then.value {
            continue;
        }
        let both = idle.value & (idle.value >> 4) & 0xf;
        assert_eq!(whole.value, both | both << 4, "{:x} are idle: {}", idle.value, run.log());
        seen[(idle.value >> 1 & 1 | idle.value >> 4 & 2) as usize] += 1;
    }
    assert!(seen.iter().all(|&times| times > 5), "all mixtures of the core's two: {seen:?}");
}
