//! Policies and cgroups.

use super::{made, start, switch};
use crate::{Builder, Late, Overheads, export, scaled};
use keel_abi::cgroup::Bandwidth;
use keel_abi::task::Policy;
use keel_abi::timeline::{Change, Happening};
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Event, GroupInfo, Meta, Sink, What, Why};

/// The policies that task 0 changes to, one word each, if its priorities are these in turn.
fn check_policies(prios: &[i16], expected: &str) {
    let mut events = vec![(0, switch(9, Why::WasIdle, 0))];
    let told = |(n, &prio): (usize, _)| (n as u64, What::Priority { task: TaskId(0), prio, weight: 0 });
    events.extend(prios.iter().enumerate().map(told));
    events.push((prios.len() as u64, switch(0, Why::Exited, 9)));
    let timeline = made(&events).expect("it can be replayed").workload.timeline;
    let words: Vec<String> = timeline.iter().map(|happening| format!("{:?}", happening.change)).collect();
    assert_eq!(words.join(" "), expected);
}

#[test]
fn a_task_whose_policy_goes_back_has_its_first_again() {
    check_policies(&[120, 139], "");
    check_policies(&[120, 49], "Policy { spec: 0, policy: Fifo(50) }");
    check_policies(
        &[120, 49, 49, 120],
        "Policy { spec: 0, policy: Fifo(50) } Policy { spec: 0, policy: Other }",
    );
}

/// Task 0's initial policy, and those that it changes to, recorded at these microseconds.
fn check_told(told: &[(u64, Told)], begins: Policy, changes: &[Policy]) {
    let mut builder = Builder::new(Overheads::default(), None);
    start(&mut builder);
    let at = |us| Instant::ZERO + Span::from_us(us);
    builder.events(&[Event { at: at(0), cpu: CpuId(0), what: switch(9, Why::WasIdle, 0) }]);
    for &(us, told) in told {
        match told {
            Told::Policy(policy) => {
                builder.meta(at(us), &Meta::Scheduled { task: TaskId(0), policy, group: 0 });
            }
            Told::Prio(prio) => {
                let what = What::Priority { task: TaskId(0), prio, weight: 0 };
                builder.events(&[Event { at: at(us), cpu: CpuId(0), what }]);
            }
        }
    }
    let made = builder.finish().expect("it can be replayed");
    assert_eq!(made.workload.tasks[0].policy, begins, "{told:?}");
    let policy = |it: &Happening| match it.change {
        Change::Policy { policy, .. } => Some(policy),
        _ => None,
    };
    let changed: Vec<Policy> = made.workload.timeline.iter().filter_map(policy).collect();
    assert_eq!(changed, changes, "{told:?}");
}

#[derive(Clone, Copy, Debug)]
enum Told {
    Policy(u32),
    Prio(i16),
}

#[test]
fn policies_are_those_that_are_told() {
    use Told::{Policy as P, Prio};
    check_told(&[(1, Prio(120))], Policy::Other, &[]);
    // Without policies, priorities are all there is.
    check_told(&[(1, Prio(120)), (2, Prio(49))], Policy::Other, &[Policy::Fifo(50)]);
    check_told(&[(1, P(3)), (1, Prio(120))], Policy::Batch, &[]);
    check_told(&[(1, P(2)), (1, Prio(9))], Policy::RoundRobin(90), &[]);
    // A priority inherited through a mutex does not count.
    check_told(&[(1, P(0)), (1, Prio(120)), (2, Prio(49)), (3, Prio(120))], Policy::Other, &[]);
    let becomes_urgent = [(1, P(0)), (1, Prio(120)), (2, P(1)), (2, Prio(49)), (3, P(5)), (3, Prio(120))];
    check_told(&becomes_urgent, Policy::Other, &[Policy::Fifo(50), Policy::Idle]);
    check_told(&[(1, P(6)), (1, Prio(-1))], Policy::Other, &[]);
}

#[test]
fn cgroups_that_are_told_are_the_workloads_own() {
    let check = |copies, expected: &str| {
        let mut builder = Builder::new(Overheads::default(), None);
        start(&mut builder);
        let limited = Bandwidth { period_us: 50_000, quota_us: 20_000, burst_us: 0 };
        for (group, parent, name, weight, bandwidth) in
            [(2, 1, "web", 300, limited), (1, 0, "system", 100, Bandwidth::default())]
        {
            let name = name.to_owned();
            let info = GroupInfo { group, parent, name, weight, bandwidth, ..GroupInfo::default() };
            builder.meta(Instant::ZERO, &Meta::Group(Box::new(info)));
        }
        builder.meta(Instant::ZERO, &Meta::Scheduled { task: TaskId(0), policy: 0, group: 2 });
        builder.events(&[Event { at: Instant::ZERO, cpu: CpuId(0), what: switch(9, Why::WasIdle, 0) }]);
        let mut made = builder.finish().expect("it can be replayed");
        let said = made.confidence.to_string();
        assert!(
            said.contains("2 cgroups have the weights and limits that they had last; 1 of them"),
            "{said}"
        );
        made.workload = scaled(made.workload, copies);
        let file: serde_json::Value =
            serde_json::from_str(&export(&made, Late::default()).expect("it is short")).expect("it is JSON");
        let mut text = file["evenkeel"]["cgroups"].to_string();
        for task in file["tasks"].as_object().expect("tasks").values() {
            text += &task["evenkeel"]["cgroup"].as_str().map(|path| format!(" {path}")).unwrap_or_default();
        }
        assert_eq!(text, expected);
    };
    let (system, web) = ("{}", r#"{"period_us":50000,"quota_us":20000,"weight":300}"#);
    check(1, &format!(r#"{{"/system":{system},"/system/web":{web}}} /system/web"#));
    let groups = format!(
        r#"{{"/system":{system},"/system-copy-1":{system},"/system-copy-1/web":{web},"/system/web":{web}}}"#
    );
    check(2, &format!("{groups} /system/web /system-copy-1/web"));
}
