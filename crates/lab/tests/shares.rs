//! A scheduler that uses cgroup weights gives the intended shares from the kernel's notifications: when it is loaded,
//! when weights change, when tasks move, and when cgroups are created and removed.
#![forbid(unsafe_code)]

mod common;

use common::{source, spec, workload};
use keel_bpfc::Compiler;
use keel_check::{Figures, Judge};
use keel_lab::{Engine, machines};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static SHARES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let compiler = Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf");
    compiler.compile("tests/sim/cgroups/shares.bpf.c").unwrap_or_else(|e| panic!("{e}"))
});

/// The shares of all CPU time of each name's tasks, in thousandths.
fn shares(cpus: u32, text: &str, ms: u64, engine: Engine) -> BTreeMap<String, u64> {
    let machine = machines::of_cpus(cpus);
    let mut spec = spec(source("shares", &SHARES), workload(text, &machine), machine, ms, 1);
    spec.engine = engine;
    let mut judge = Judge::new(Figures::default());
    let outcome = keel_lab::run(&spec, &mut judge, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert!(!outcome.exit.is_failure(), "{}", outcome.message);
    let tasks = judge.judgement().summary.tasks;
    let total: u64 = tasks.iter().map(|task| task.cpu.as_ns()).sum();
    let mut shares = BTreeMap::new();
    for task in tasks {
        *shares.entry(task.name.clone()).or_default() += task.cpu.as_ns();
    }
    shares.into_iter().map(|(name, ns): (String, u64)| (name, (ns * 1000 + total / 2) / total)).collect()
}

#[track_caller]
fn check(cpus: u32, text: &str, ms: u64, expected: &[(&str, u64)]) {
    let got = shares(cpus, text, ms, Engine::Native);
    for &(name, wanted) in expected {
        let share = got[name];
        assert!(
            share.abs_diff(wanted) <= 10,
            "{name} on {cpus} CPUs: expected {wanted}, got {share} of 1000"
        );
    }
    assert_eq!(got, shares(cpus, text, ms, Engine::Interpreter), "the interpreter agrees");
}

/// Tasks that never rest, with one cgroup per kind: enough of them for 8 CPUs.
fn hogs(cgroups: &str, tasks: &[(&str, &str)]) -> String {
    let tasks: Vec<String> = tasks
        .iter()
        .map(|(name, rest)| format!(r#""{name}": {{ "instance": 16, "loop": -1, "run": 5000, {rest} }}"#))
        .collect();
    format!(r#"{{ "evenkeel": {{ "cgroups": {cgroups} }}, "tasks": {{ {} }} }}"#, tasks.join(", "))
}

#[test]
fn by_weight() {
    let groups = r#"{ "/a": { "weight": 100 }, "/b": { "weight": 300 } }"#;
    let text = hogs(groups, &[("a", r#""evenkeel": { "cgroup": "/a" }"#), ("b", r#""taskgroup": "/b""#)]);
    for cpus in [1, 2, 8] {
        check(cpus, &text, 3000, &[("a", 250), ("b", 750)]);
    }
}

#[test]
fn by_weight_on_each_level() {
    let groups = r#"{ "/a": { "weight": 100 }, "/b": { "weight": 300 }, "/b/x": { "weight": 100 }, "/b/y": { "weight": 300 } }"#;
    let born = |path: &str| format!(r#""evenkeel": {{ "cgroup": "{path}" }}"#);
    let text = hogs(groups, &[("a", &born("/a")), ("x", &born("/b/x")), ("y", &born("/b/y"))]);
    for cpus in [1, 2, 8] {
        check(cpus, &text, 3000, &[("a", 250), ("x", 188), ("y", 562)]);
    }
}

#[test]
fn after_weights_have_changed() {
    // 100 and 300 for half of the time, then 300 and 100.
    let text = r#"{
        "evenkeel": { "cgroups": { "/a": { "weight": 100 }, "/b": { "weight": 300 } } },
        "tasks": {
            "a": { "instance": 4, "loop": -1, "run": 5000, "evenkeel": { "cgroup": "/a" } },
            "b": { "instance": 4, "loop": -1, "run": 5000, "evenkeel": { "cgroup": "/b" } },
            "boss": { "loop": 1, "delay": 2000000, "run": 10, "evenkeel": { "steps": [
                { "set_cgroup": { "path": "/a", "weight": 300 } }, { "set_cgroup": { "path": "/b", "weight": 100 } } ] } }
        }
    }"#;
    check(2, text, 4000, &[("a", 500), ("b", 500)]);
    check(2, text, 2000, &[("a", 250), ("b", 750)]);
}

#[test]
fn after_tasks_have_moved() {
    // The movers are with a for a quarter of the time, then with b.
    let text = r#"{
        "evenkeel": { "cgroups": { "/a": { "weight": 100 }, "/b": { "weight": 100 } } },
        "tasks": {
            "a": { "instance": 4, "loop": -1, "run": 5000, "evenkeel": { "cgroup": "/a" } },
            "b": { "instance": 4, "loop": -1, "run": 5000, "evenkeel": { "cgroup": "/b" } },
            "mover": { "instance": 4, "phases": {
                "first": { "runtime": 1000000, "taskgroup": "/a" },
                "then": { "runtime": 3000000, "taskgroup": "/b" } } }
        }
    }"#;
    // With a: 1/4, 1/2, 1/4; with b: 1/2, 1/4, 1/4.
    check(2, text, 4000, &[("a", 437), ("b", 313), ("mover", 250)]);
}

#[test]
fn when_cgroups_come_and_go() {
    // Alone for a second, then for a second beside a cgroup of three times the weight, then alone again.
    let text = r#"{
        "evenkeel": { "cgroups": { "/a": { "weight": 100 }, "/late": { "weight": 300, "later": true } } },
        "tasks": {
            "a": { "instance": 4, "loop": -1, "run": 5000, "evenkeel": { "cgroup": "/a" } },
            "late": { "instance": 4, "loop": 1, "delay": 1000000, "phases": {
                "begin": { "run": 10, "evenkeel": { "steps": [ { "make_cgroup": "/late" }, { "cgroup": "/late" } ] } },
                "work": { "runtime": 1000000 },
                "end": { "run": 10, "evenkeel": { "steps": [ { "cgroup": "/" }, { "remove_cgroup": "/late" } ] } } } }
        }
    }"#;
    check(1, text, 3000, &[("a", 750), ("late", 250)]);
}
