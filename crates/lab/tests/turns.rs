//! CPUs that an emulator executes in turns: work and the kernel's paths take longer by the number of busy CPUs.
#![forbid(unsafe_code)]

mod common;

use common::{Collector, built_in, collect, fifo, machine, spec, workload};
use keel_abi::Span;
use keel_trace::{Class, What, Why};

/// A run on three CPUs with hardly any ticks, with turns of `turn_ns` or none. Task `a` works for 6 ms and ends; `hogs`
/// hogs keep other CPUs busy.
fn run(turn_ns: u64, hogs: u32) -> Collector {
    let text = format!(
        "name = 'm'\nhz = 10\n[topology]\nnodes = 1\ncores_per_llc = 3\n\
         [costs]\nturn_ns = {{ value = {turn_ns}, source = 'a test' }}\n"
    );
    let machine = machine(&text);
    let tasks = format!(
        r#"{{"tasks": {{"a": {{"loop": 1, "delay": 20000, "cpus": [0], "run": 6000}},
            "hog": {{"instance": {hogs}, "cpus": [1, 2], "runtime": 1000000}}}}}}"#
    );
    let workload = workload(&tasks, &machine);
    collect(&spec(fifo(), workload, machine, 60, 1), Class::CORE)
}

/// How long `a` ran until it ended, in tenths of a millisecond.
fn took(turn_ns: u64, hogs: u32) -> u64 {
    let run = run(turn_ns, hogs);
    let ended = run.events.iter().rev().find_map(|event| match event.what {
        What::Switch { prev, why: Why::Exited, .. } => Some((event.at, prev)),
        _ => None,
    });
    let (ended, task) = ended.expect("it ends");
    let began = run.events.iter().filter(|event| event.at < ended);
    let began = began.rev().find(|event| matches!(event.what, What::Switch { next, .. } if next == task));
    ended.since(began.expect("it runs").at).as_ns() / 100_000
}

#[test]
fn work_takes_as_many_times_longer_as_cpus_are_busy() {
    assert_eq!([took(0, 0), took(0, 2)], [60, 60]);
    assert_eq!(took(1_000_000, 0), 60);
    // Its end waits for the CPU's next turn, which may be two turns of other CPUs away.
    assert!((120..=150).contains(&took(1_000_000, 1)), "{}", took(1_000_000, 1));
    assert!((180..=220).contains(&took(1_000_000, 2)), "{}", took(1_000_000, 2));
}

/// The longest wait for a lock in three seconds of `bsd` on an emulated guest with eight CPUs, which move tasks to each
/// other.
fn longest_wait() -> Span {
    let guest = std::fs::read_to_string("../../tests/twin/guest.toml").unwrap();
    let machine = machine(&guest.replace("cores_per_llc = 4", "cores_per_llc = 8"));
    let tasks = r#"{"tasks": {
        "hog": {"instance": 10, "runtime": 1000000},
        "pinned": {"instance": 4, "cpus": [3, 4, 5, 6], "runtime": 1000000},
        "sleeper": {"instance": 20, "run": 3000, "sleep": 5000},
        "near": {"instance": 10, "cpus": [0, 1], "run": 1000, "sleep": 7000}
    }}"#;
    let workload = workload(tasks, &machine);
    let run = collect(&spec(built_in("bsd"), workload, machine, 3000, 1), Class::LOCKS);
    let waits = run.events.iter().filter_map(|event| match event.what {
        What::LockWait { waited, .. } => Some(waited),
        _ => None,
    });
    waits.max().unwrap_or(Span::ZERO)
}

#[test]
fn a_wait_for_a_lock_is_no_work_that_takes_turns() {
    // The holder gets one turn in eight, and few tasks are in line.
    let turn = 122_070;
    assert!(longest_wait() < Span::from_ns(24 * turn), "{:?}", longest_wait());
}

#[test]
fn handing_over_to_another_cpu_takes_no_turn() {
    let text = "name = 'm'\n[topology]\nnodes = 1\ncores_per_llc = 2\n\
                [costs]\nturn_ns = { value = 1000000, source = 'a test' }\n";
    let machine = machine(text);
    let step = |kind: &str, channel: &str| format!(r#"{{"{kind}": {{"channel": "{channel}", "bytes": 1}}}}"#);
    let task = |cpu: u32, steps: [String; 2]| {
        format!(r#"{{"cpus": [{cpu}], "evenkeel": {{"steps": [{}]}}}}"#, steps.join(", "))
    };
    let tasks = format!(
        r#"{{"evenkeel": {{"channels": {{"to": {{"bytes": 64}}, "fro": {{"bytes": 64}}}}}}, "tasks": {{"a": {}, "b": {}}}}}"#,
        task(0, [step("send", "to"), step("receive", "fro")]),
        task(1, [step("receive", "to"), step("send", "fro")]),
    );
    let workload = workload(&tasks, &machine);
    let run = collect(&spec(fifo(), workload, machine, 60, 1), Class::CORE);
    let blocks = |event: &&keel_trace::Event| matches!(event.what, What::Switch { why: Why::Blocked, .. });
    // Once per millisecond is once per turn: a task that waits for the other gives up the rest of its own turn.
    assert!(run.events.iter().filter(blocks).count() > 600);
}
