//! CPU frequency: a scheduler's requests, the governor's decisions, and how fast work then proceeds.

use crate::harness::*;
use keel_lab::{Machine, machines};

/// Two CPUs that can run at a quarter, switch in 20 µs, and at most once per millisecond. CPU 1 is half as fast as CPU
/// 0.
fn machine() -> Machine {
    let text = r#"
        name = "two"
        [topology]
        nodes = 1
        cores_per_llc = 2
        [frequency]
        least = { value = 256, source = "test" }
        [[capacity]]
        cpus = "1"
        value = 512
        source = "test"
    "#;
    machines::read("two.toml", text).expect("the machine is right")
}

/// The log's values for a CPU.
fn of_cpu(run: &Run, cpu: u32, op: &str) -> Vec<u64> {
    run.calls.iter().filter(|c| c.cpu == cpu && c.op == op).map(|c| c.value).collect()
}

/// How long 10 ms of work took.
fn took_us(run: &Run) -> u64 {
    let (from, to) = (run.starts("a")[0].0, *run.stops("a").last().expect("it ends"));
    to.since(from).as_ns() / 1000
}

fn on(cpu: u32) -> Scenario {
    with("frequency").on(machine()).millis(200).task(task("a", [run(10_000)]).on([cpu]))
}

/// Whether `a` is within a hundredth of `b`.
fn about(a: u64, b: u64) -> bool {
    a.abs_diff(b) * 100 <= b
}

#[test]
fn the_default_is_full_frequency() {
    let run = on(0).survives();
    assert!(about(took_us(&run), 10_000), "{}", took_us(&run));
    assert!(of_cpu(&run, 0, "cur").iter().all(|&cur| cur == 1024));
    assert_eq!(of_cpu(&run, 0, "cap")[0], 1024);
}

#[test]
fn a_small_cpu_is_slower_at_its_best() {
    let run = on(1).survives();
    assert!(about(took_us(&run), 20_000), "{}", took_us(&run));
    assert_eq!((of_cpu(&run, 1, "cap")[0], of_cpu(&run, 1, "cur")[0]), (512, 1024));
}

#[test]
fn work_takes_as_long_as_the_frequency_says() {
    // 512 and a quarter more: 640 of 1024.
    let run = on(0).set("target", 512).survives();
    assert!(about(took_us(&run), 16_000), "{}", took_us(&run));
    assert_eq!(of_cpu(&run, 0, "cur")[0], 1024, "not at once");
    assert_eq!(*of_cpu(&run, 0, "cur").last().unwrap(), 640);
    // That is the maximum of the small one.
    let run = on(1).set("target", 512).survives();
    assert!(about(took_us(&run), 20_000), "{}", took_us(&run));
}

#[test]
fn there_is_a_lowest_frequency() {
    let run = on(0).set("target", 0).survives();
    assert!(about(took_us(&run), 40_000), "{}", took_us(&run));
    assert_eq!(*of_cpu(&run, 0, "cur").last().unwrap(), 256);
}

#[test]
fn a_change_counts_in_the_middle_of_work() {
    // Two ticks at 640, the rest at 1024.
    let run = on(0).set("target", 512).set("later_ticks", 2).set("later_target", 1023).survives();
    let slow_us = run.calls.iter().filter(|c| c.op == "cur" && c.value == 640).map(|c| c.at.as_ns()).max();
    let slow_us = (slow_us.expect("some") - run.starts("a")[0].0.as_ns()) / 1000;
    let expected = slow_us + 20 + 10_000 - slow_us * 640 / 1024;
    assert!(took_us(&run).abs_diff(expected) < 100, "{} and not {expected}", took_us(&run));
}

#[test]
fn soon_after_a_change_the_governor_ignores_a_target() {
    // ops.init requests first. ops.running requests within a millisecond of that, without effect, and again after
    // three.
    let base = with("frequency").on(machine()).millis(10).set("target", 512).set("early_target", 100);
    let run = base.task(task("a", [run(500), sleep(1500), run(3000)]).on([1])).survives();
    let cur = of_cpu(&run, 1, "cur");
    let later = cur.iter().position(|&cur| cur == 1024).unwrap_or_else(|| panic!("{}", run.log()));
    assert!(later >= 3 && cur[..later].iter().all(|&cur| cur == 256), "{}", run.log());
    let (first, second) = (run.starts("a")[0].0, run.starts("a")[1].0);
    assert!(first.as_ns() < 1_000_000 && second.as_ns() > 3_000_000);
}

#[test]
fn a_wrong_target_ends_the_scheduler() {
    on(0).set("target", 1025).fails("Invalid cpuperf target 1025 for CPU 0");
    on(0).set("target", 512).set("target_cpu", 1).fails("Invalid target CPU 1");
    on(0).set("target", 512).set("target_cpu", 7).fails("invalid CPU 7");
    // Without a locked runqueue, any CPU may be named.
    on(0).set("early_target", 512).survives();
}

#[test]
fn a_machine_with_one_frequency_keeps_it() {
    let base = with("frequency").on(machines::built_in("p3-1").expect("it is built in")).millis(100);
    let run = base.set("target", 512).task(task("a", [run(10_000)])).survives();
    assert!(of_cpu(&run, 0, "cur").iter().all(|&cur| cur == 1024));
}
