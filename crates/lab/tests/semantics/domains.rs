//! The scheduling domains that a scheduler reads, and when they change.

use crate::harness::*;
use crate::outside::at;
use keel_abi::timeline::Change;
use keel_lab::machines;

/// The state of the watched CPU from a line of the log on: its cache's number, and its domains' CPUs.
fn seen_from(run: &Run, begin: usize) -> (i32, Vec<u64>) {
    let mut calls = run.calls[begin..].iter().skip_while(|c| c.op != "llc");
    let llc = calls.next().unwrap_or_else(|| panic!("nobody looks: {}", run.log())).value as i32;
    (llc, calls.skip(1).take_while(|c| c.op == "span").map(|c| c.value).collect())
}

/// The state in the first callback of its kind about a CPU.
fn seen_in(run: &Run, op: &str) -> (i32, Vec<u64>) {
    let begin = run.calls.iter().position(|c| c.op == op);
    seen_from(run, begin.unwrap_or_else(|| panic!("no {op}: {}", run.log())))
}

/// The state seen by the first task that blocks this late.
fn seen_after(run: &Run, us: u64) -> (i32, Vec<u64>) {
    let begin = run.calls.iter().position(|c| c.op == "quiescent" && c.at.as_ns() > us * 1000);
    seen_from(run, begin.unwrap_or_else(|| panic!("nobody blocks: {}", run.log())))
}

#[test]
fn each_cpu_has_its_core_its_cache_and_the_nodes_by_distance() {
    let opteron = machines::built_in("opteron-6272").expect("it comes along");
    let check = |cpu: u32, expected: &[u64]| {
        let base = with("domains").on(opteron.clone()).set("watched", cpu).millis(5);
        let run = base.task(repeat("a", [run(100), sleep(100)])).survives();
        let (llc, spans) = seen_after(&run, 0);
        assert_eq!((llc, spans.as_slice()), (cpu as i32 / 8, expected), "CPU {cpu}");
        let mut same = run.calls.iter().filter(|c| c.op == "is_cpu_rq").map(|c| c.value);
        assert!(same.next() == Some(1) && same.all(|is_same| is_same == 1), "scx_bpf_cpu_rq() of CPU {cpu}");
    };
    let nodes = |nodes: &[u32]| nodes.iter().map(|node| 0xff << (8 * node)).sum::<u64>();
    check(0, &[0b11, nodes(&[0]), nodes(&[0, 1, 2, 4, 6]), u64::MAX]);
    check(25, &[0b11 << 24, nodes(&[3]), nodes(&[1, 2, 3, 4, 5, 7]), u64::MAX]);
}

#[test]
fn a_cpu_is_in_them_from_before_cpu_online_until_after_cpu_offline() {
    let plug = |watched: u32| {
        let base = with("domains").cpus(4).millis(30).set("watched", watched);
        let timeline = [at(5000, Change::Offline(set([2]))), at(15_000, Change::Online(set([2])))];
        let spec = repeat("a", [run(100), sleep(100)]);
        base.task(spec).workload(|w| w.timeline.extend(timeline)).survives()
    };
    let run = plug(0);
    assert_eq!(seen_in(&run, "cpu_offline"), (0, vec![0b1111]));
    assert_eq!(seen_after(&run, 10_000), (0, vec![0b1011]));
    assert_eq!(seen_in(&run, "cpu_online"), (0, vec![0b1111]));
    // Its cache's number changes before.
    let run = plug(2);
    assert_eq!(seen_after(&run, 1_000), (0, vec![0b1111]));
    assert_eq!(seen_in(&run, "cpu_offline"), (-1, vec![0b1111]));
    assert_eq!(seen_after(&run, 10_000), (-1, vec![]));
    assert_eq!(seen_in(&run, "cpu_online"), (0, vec![0b1111]));
}

#[test]
fn what_is_off_from_the_start_is_in_none() {
    let base = with("domains").cpus(4).millis(5).task(repeat("a", [run(100), sleep(100)]));
    let run = base.workload(|w| w.timeline.push(at(0, Change::Offline(set([1, 3]))))).survives();
    assert_eq!(seen_after(&run, 0), (0, vec![0b0101]));
}

#[test]
fn a_runqueue_has_its_current_number_of_tasks() {
    let base = with("domains").millis(20).task(hog("hog").instances(3));
    let run = base.task(repeat("a", [run(100), sleep(2000)])).survives();
    let seen: std::collections::BTreeSet<u64> =
        run.calls.iter().filter(|c| c.op == "nr_running").map(|c| c.value).collect();
    // A task that blocks is still counted in ops.quiescent.
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [4]);
}
