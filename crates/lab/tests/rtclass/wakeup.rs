//! Where a waking real-time task goes, by the rules before and after both parts of Rostedt's change.

use crate::harness::*;
use keel_abi::task::Policy;
use keel_lab::machines;

fn on(rule: &str) -> Scenario {
    let text =
        format!("name = 'm'\n[topology]\nnodes = 1\ncores_per_llc = 2\n[realtime]\nwakeup = '{rule}'\n");
    with("tracer").on(machines::read("m.toml", &text).unwrap())
}

/// The CPUs of `woken`, which has this priority, and of another task with priority 10, which runs on `woken`'s CPU 0
/// while CPU 1 is idle.
fn check(rule: &str, priority: u8, woken: [u32; 2], other: &[u32]) {
    let a = task("a", [run(500), sleep(2000), run(3000)]).policy(Policy::Fifo(priority));
    let b = task("b", [affinity([0]), affinity([0, 1]), run(10_000)]).policy(Policy::Fifo(10)).after_ms(1);
    let seen = on(rule).task(a).task(b).millis(20).survives();
    let cpus = |name: &str| seen.starts(name).iter().map(|s| s.1.0).collect::<Vec<_>>();
    let b_cpus: Vec<u32> = cpus("b").into_iter().skip_while(|&cpu| cpu == 1).collect();
    assert_eq!((cpus("a"), b_cpus), (woken.to_vec(), other.to_vec()), "{rule}, priority {priority}");
}

#[test]
fn before_the_change_the_running_task_keeps_its_cpu() {
    for priority in [9, 10, 11, 99] {
        check("before", priority, [0, 1], &[0]);
    }
}

#[test]
fn after_it_the_more_urgent_keeps_its_cpu_and_bumps_the_other() {
    for rule in ["posted", "after"] {
        check(rule, 9, [0, 1], &[0]);
        check(rule, 11, [0, 0], &[0, 1]);
        check(rule, 99, [0, 0], &[0, 1]);
    }
}

#[test]
fn equals_are_ordered_by_the_current_rule_alone() {
    check("after", 10, [0, 1], &[0]);
    // As posted it stays, waits for no other CPU's push, and goes where the other has ended.
    check("posted", 10, [0, 0], &[0]);
}
