//! Changes that tasks make to themselves and to cgroups, and changes from outside.

use crate::{MOST_OFF, check_file_within};

/// Under schedulers that are sensitive to when exactly a change happens.
fn check(text: &str) {
    check_within(0.0, text);
}

/// Figures may be off by this many thousandths.
fn check_within(most_off: f64, text: &str) {
    for scheduler in ["eevdf", "cfs", "goodness", "mq", "bsd"] {
        check_file_within(scheduler, text, most_off);
    }
}

#[test]
fn tasks_that_confine_themselves() {
    check(
        r#"{ "tasks": {
        "mover": { "instance": 3, "loop": -1, "phases": {
            "a": { "loop": 5, "run": 700, "sleep": 300, "cpus": [0] },
            "b": { "loop": 5, "run": 700, "cpus": [1, 2] } } },
        "other": { "instance": 5, "run": 3000 } } }"#,
    );
}

#[test]
fn tasks_that_change_their_nice_values_and_policies() {
    check(
        r#"{ "tasks": {
        "nice": { "instance": 3, "loop": -1, "phases": {
            "a": { "loop": 3, "run": 1500, "sleep": 200, "priority": 5 },
            "b": { "loop": 3, "run": 900, "priority": -5 } } },
        "urgent": { "instance": 2, "loop": -1, "phases": {
            "a": { "loop": 3, "run": 900, "sleep": 900, "policy": "SCHED_FIFO", "priority": 20 },
            "b": { "loop": 3, "run": 900, "sleep": 300, "policy": "SCHED_BATCH" },
            "c": { "loop": 3, "run": 900, "sleep": 300, "policy": "SCHED_IDLE" } } },
        "other": { "instance": 5, "run": 3000 } } }"#,
    );
}

#[test]
fn tasks_that_stay_on_a_cpu_for_a_while() {
    check(
        r#"{ "tasks": {
        "stays": { "instance": 4, "loop": -1, "run": 100, "evenkeel": { "steps": [
            "syscall", "migrate_disable", { "run": 500 }, { "sleep": 200 }, { "run": 1000 },
            "migrate_enable" ] } },
        "other": { "instance": 6, "run": 3000 } } }"#,
    );
}

#[test]
fn tasks_that_change_cgroups() {
    check(
        r#"{ "evenkeel": { "cgroups": {
            "/b": { "weight": 50, "quota_us": 20000 }, "/a": { "weight": 300 }, "/late": { "later": true, "weight": 30 } } },
        "tasks": {
        "mover": { "instance": 3, "loop": -1, "run": 1000, "evenkeel": { "steps": [
            { "cgroup": "/a" }, { "run": 2000 }, { "cgroup": "/b" }, { "run": 1500 } ] } },
        "boss": { "loop": -1, "run": 100, "sleep": 7000, "evenkeel": { "process": 1, "steps": [
            { "set_cgroup": { "path": "/a", "weight": 50 } }, { "make_cgroup": "/late" }, { "sleep": 9000 },
            { "cgroup_process": "/late" }, { "run": 3000 }, { "cgroup": "/" }, { "remove_cgroup": "/late" },
            { "set_cgroup": { "path": "/a", "idle": true } }, { "run": 2000 },
            { "set_cgroup": { "path": "/a", "idle": false } },
            { "set_cgroup": { "path": "/b", "quota_us": 30000, "period_us": 50000 } } ] } },
        "in a": { "instance": 4, "run": 3000, "evenkeel": { "cgroup": "/a" } },
        "in b": { "instance": 2, "run": 2000, "evenkeel": { "cgroup": "/b" } } } }"#,
    );
}

#[test]
fn tasks_that_begin_sessions() {
    check(
        r#"{ "tasks": {
        "leaves": { "instance": 2, "loop": -1, "phases": {
            "a": { "loop": 10, "run": 1000 },
            "b": { "loop": 1, "run": 1000, "evenkeel": { "steps": [ "setsid", { "autogroup_nice": 5 } ] } },
            "c": { "loop": 1000, "run": 2000, "sleep": 100 } }, "evenkeel": { "process": 2 } },
        "stays": { "instance": 4, "run": 1500, "evenkeel": { "process": 4, "session": 2 } },
        "other": { "instance": 3, "run": 3000 } } }"#,
    );
}

#[test]
fn tasks_that_ask_for_a_slice_or_come_with_a_hint() {
    check(
        r#"{ "tasks": {
        "short": { "instance": 3, "run": 1500, "sleep": 700, "evenkeel": { "slice_us": 500 } },
        "long": { "instance": 3, "run": 5000, "evenkeel": { "slice_us": 20000 } },
        "hint": { "instance": 2, "run": 300, "sleep": 1200, "evenkeel": { "rt_priority": 30, "rt_policy": "rr" } },
        "other": { "instance": 3, "run": 3000 } } }"#,
    );
}

/// The kernel chooses another CPU when a program begins.
#[test]
fn tasks_that_execute_programs_on_other_cpus() {
    check_within(
        MOST_OFF,
        r#"{ "tasks": {
        "shell": { "instance": 3, "loop": -1, "run": 100, "evenkeel": { "process": 1, "steps": [
            { "spawn": "child" }, "wait_child" ] } },
        "child": { "instance": 0, "loop": 1, "run": 50, "evenkeel": { "steps": [
            "setsid", "exec", { "run": 2700 }, { "sleep": 100 }, { "run": 500 } ] } },
        "other": { "instance": 2, "run": 3000 } } }"#,
    );
}

/// One entry changes all instances of a task, one after another.
#[test]
fn tasks_that_others_change() {
    check(
        r#"{ "tasks": {
        "worker": { "instance": 6, "run": 2000, "sleep": 500 }, "other": { "instance": 4, "run": 5000 } },
        "evenkeel": { "timeline": [
        { "at": 20000, "every": 30000, "task": "worker", "cpus": [0] },
        { "at": 35000, "every": 30000, "task": "worker", "cpus": [0, 1] },
        { "at": 20000, "every": 30000, "task": "worker", "nice": 10 },
        { "at": 31000, "every": 30000, "task": "worker", "nice": 0 },
        { "at": 33000, "every": 40000, "task": "other", "policy": "SCHED_BATCH" },
        { "at": 51000, "every": 40000, "task": "other", "policy": "SCHED_IDLE" } ] } }"#,
    );
}

/// The kernel itself gives a task other CPUs if all of its own are offline.
#[test]
fn cpus_that_come_and_go() {
    check(
        r#"{ "tasks": {
        "worker": { "instance": 6, "run": 2000, "sleep": 500 }, "other": { "instance": 3, "run": 5000 },
        "pinned": { "run": 300, "sleep": 700, "cpus": [1] } },
        "evenkeel": { "timeline": [
        { "at": 0, "offline": [3] },
        { "at": 20000, "every": 50000, "offline": [1, 2] },
        { "at": 40000, "every": 50000, "online": [1, 2, 3] } ] } }"#,
    );
}
