//! Groups of the kernel's own scheduler: shares of cgroups, `cpu.idle`, autogroups, and limits on CPU time.
#![forbid(unsafe_code)]

mod common;

use common::{spec, workload};
use keel_abi::{Instant, Span};
use keel_check::{Figures, Judge, Judgement};
use keel_lab::{RunSpec, machines, schedulers};
use keel_trace::{Class, Event, Meta, Sink, What};

/// Tasks with these cgroups, on `cpus` CPUs.
fn scene(cpus: u32, cgroups: &str, tasks: &str, ms: u64) -> RunSpec {
    let machine = machines::of_cpus(cpus);
    let text = format!(r#"{{ "evenkeel": {{ "cgroups": {{ {cgroups} }} }}, "tasks": {{ {tasks} }} }}"#);
    let source = schedulers::source(schedulers::EEVDF).expect("eevdf is built in");
    spec(source, workload(&text, &machine), machine, ms, 1)
}

fn judge(spec: &RunSpec) -> Judgement {
    let mut judge = Judge::new(Figures::default());
    let outcome = keel_lab::run(spec, &mut judge, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert!(!outcome.exit.is_failure(), "{}", outcome.message);
    judge.judgement().clone()
}

/// The share of all CPU time of the tasks whose names begin with each of these, in thousandths.
fn per_mille<const N: usize>(spec: &RunSpec, names: [&str; N]) -> [u64; N] {
    let tasks = judge(spec).summary.tasks;
    let all: u64 = tasks.iter().map(|task| task.cpu.as_ns()).sum();
    names.map(|name| {
        let own = tasks.iter().filter(|task| task.name.starts_with(name));
        (own.map(|task| task.cpu.as_ns()).sum::<u64>() * 1000 + all / 2) / all
    })
}

/// Hogs that never sleep: names, numbers, and the group of each.
fn hogs(tasks: &[(&str, u32, &str)]) -> String {
    let hog = |&(name, count, more): &(&str, u32, &str)| {
        format!(r#""{name}": {{ "instance": {count}, "loop": -1, "run": 5000 {more} }}"#)
    };
    tasks.iter().map(hog).collect::<Vec<_>>().join(", ")
}

fn near<const N: usize>(found: [u64; N], expected: [u64; N], apart: u64) {
    let is_near = found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) <= apart);
    assert!(is_near, "{found:?} instead of {expected:?}");
}

const THREE_LEVELS: &str = r#"
    "/a": { "weight": 200 }, "/a/x": { "weight": 300 }, "/a/x/deep": { "weight": 50 }, "/a/y": {}, "/b": {}"#;

fn in_three_levels(counts: [u32; 4]) -> String {
    let [deep, shallow, y, b] = counts;
    hogs(&[
        ("deep", deep, r#", "taskgroup": "/a/x/deep""#),
        ("shallow", shallow, r#", "taskgroup": "/a/x""#),
        ("y", y, r#", "taskgroup": "/a/y""#),
        ("b", b, r#", "taskgroup": "/b""#),
    ])
}

/// `/a` has two thirds, of which `/a/x` has three quarters. Its own tasks compete for that with `/a/x/deep`, which has
/// half the weight of a task. The number of tasks in a group does not matter.
#[test]
fn cgroups_get_their_shares_in_three_levels() {
    let check = |counts, expected: [u64; 4]| {
        let spec = scene(1, THREE_LEVELS, &in_three_levels(counts), 6000);
        near(per_mille(&spec, ["deep", "shallow", "y", "b"]), expected, 10);
    };
    check([1, 1, 1, 1], [167, 333, 167, 333]);
    check([5, 1, 3, 1], [167, 333, 167, 333]);
    check([1, 2, 1, 4], [100, 400, 167, 333]);
}

/// A group's share is for the whole machine: each CPU has a part in proportion to the group's load there.
#[test]
fn shares_are_divided_among_cpus_by_load() {
    let groups = r#""/heavy": { "weight": 300 }, "/light": {}"#;
    let check = |light, heavy| {
        let tasks = hogs(&[
            ("heavy", heavy, r#", "taskgroup": "/heavy""#),
            ("light", light, r#", "taskgroup": "/light""#),
        ]);
        let spec = scene(4, groups, &tasks, 8000);
        near(per_mille(&spec, ["heavy", "light"]), [750, 250], 40);
    };
    check(8, 8);
    check(4, 16);

    // Half of the load of /b is elsewhere, so it has a third of the CPU where /a is.
    let on = |group: &str, cpu: u32| format!(r#", "taskgroup": "{group}", "cpus": [{cpu}]"#);
    let (a, b, other) = (on("/a", 0), on("/b", 0), on("/b", 1));
    let spec =
        scene(2, r#""/a": {}, "/b": {}"#, &hogs(&[("a", 1, &a), ("b", 1, &b), ("other", 1, &other)]), 6000);
    near(per_mille(&spec, ["a", "b", "other"]), [333, 167, 500], 10);
}

/// A weight that is set while tasks run applies from then on.
#[test]
fn a_weight_can_be_set() {
    let groups = r#""/a": {}, "/b": {}"#;
    let boss = r#", "boss": { "loop": 1, "delay": 2000000, "run": 10, "evenkeel": { "steps": [
        { "set_cgroup": { "path": "/a", "weight": 900 } } ] } }"#;
    let tasks = hogs(&[("a", 1, r#", "taskgroup": "/a""#), ("b", 1, r#", "taskgroup": "/b""#)]) + boss;
    near(per_mille(&scene(1, groups, &tasks, 4000), ["a", "b"]), [700, 300], 10);
}

/// `sched_move_task()`: while it runs, waits or sleeps.
#[test]
fn a_task_that_moves_shares_with_its_new_group() {
    let groups = r#""/a": { "weight": 300 }, "/b": {}"#;
    let hog = hogs(&[("b", 1, r#", "taskgroup": "/b""#)]);
    // One third of a second next to /b in the root group, then two thirds as /a.
    let mover = r#", "mover": { "loop": 1, "phases": {
        "first": { "loop": 20, "run": 5000, "sleep": 100 },
        "move": { "loop": 1, "run": 10, "evenkeel": { "steps": [ { "cgroup": "/a" } ] } },
        "then": { "loop": -1, "run": 5000 } } }"#;
    let [moved, stays] = per_mille(&scene(1, groups, &(hog + mover), 6000), ["mover", "b"]);
    assert!((735..=755).contains(&moved), "{moved} {stays}");
}

/// `sched_group_set_idle()`: its weight is 3, and any other task takes its CPU at once.
#[test]
fn an_idle_cgroup_gives_way() {
    let groups = r#""/idle": { "idle": true }, "/other": {}"#;
    let tasks = hogs(&[("idle", 3, r#", "taskgroup": "/idle""#), ("other", 1, r#", "taskgroup": "/other""#)]);
    near(per_mille(&scene(1, groups, &tasks, 6000), ["idle", "other"]), [3, 997], 2);
    assert!(wait_ns(groups, "/idle", 5000) < 20_000, "a long slice is no hindrance");
}

/// How long a task of `/other` that wants 20 us every 9 ms waits for its CPU each time, next to a task of `hog` that
/// never sleeps.
fn wait_ns(groups: &str, hog: &str, slice_us: u32) -> u64 {
    let hog = format!(r#", "taskgroup": "{hog}""#);
    let waker = format!(
        r#", "waker": {{ "loop": -1, "run": 20, "sleep": 9000, "taskgroup": "/other", "evenkeel": {{ "slice_us": {slice_us} }} }}"#
    );
    // Its initial lag lets it preempt for some seconds.
    let judgement = judge(&scene(1, groups, &(hogs(&[("hog", 1, &hog)]) + &waker), 8000));
    let waker = judgement.summary.tasks.iter().find(|task| task.name == "waker").expect("it ran");
    waker.wait.as_ns() / waker.switches
}

/// `find_matching_se()`: groups compete at the level where the paths to both tasks meet, however deep the tasks are. A
/// group's slice is the shortest below it.
#[test]
fn a_wakeup_is_compared_where_both_ways_meet() {
    let groups = r#""/a": {}, "/a/deep": {}, "/a/deep/er": {}, "/other": {}"#;
    for hog in ["/", "/a", "/a/deep/er"] {
        let [short, long] = [100, 5000].map(|slice_us| wait_ns(groups, hog, slice_us));
        assert!(short < 20_000 && long > 20_000, "{hog}: {short} ns and {long} ns");
    }
}

/// Each session has a group, so the number of its processes does not matter. The first session's tasks are in the root.
#[test]
fn sessions_share_by_autogroups() {
    let session = |number| format!(r#", "evenkeel": {{ "session": {number}, "process": {number} }}"#);
    let (one, two) = (session(1), session(2));
    let check = |tasks: &[(&str, u32, &str)], expected| {
        near(per_mille(&scene(1, "", &hogs(tasks), 4000), ["one", "two"]), expected, 10);
    };
    check(&[("one", 1, &one), ("two", 9, &two)], [500, 500]);
    check(&[("one", 1, ""), ("two", 9, "")], [100, 900]);
    check(&[("one", 1, &one), ("two", 9, "")], [100, 900]);
}

/// A session that begins while its process runs (`sched_autogroup_create_attach()`).
#[test]
fn setsid_makes_an_autogroup() {
    let tasks = r#""one": { "instance": 3, "loop": 1, "phases": {
            "begin": { "loop": 1, "run": 1000, "evenkeel": { "steps": [ "setsid" ] } },
            "then": { "loop": -1, "run": 5000 } } }, "#
        .to_owned()
        + &hogs(&[("two", 3, r#", "evenkeel": { "session": 2, "process": 2 }"#)]);
    near(per_mille(&scene(1, "", &tasks, 4000), ["one", "two"]), [500, 500], 10);
}

/// `proc_sched_autogroup_set_nice()`: the session has the weight of a task with that nice value, 335 against 1024. The
/// root's session has none.
#[test]
fn an_autogroup_has_a_nice_value() {
    let check = |session: u32, expected| {
        let one = format!(
            r#""one": {{ "evenkeel": {{ "session": {session}, "process": 1 }}, "loop": 1, "phases": {{
                "nice": {{ "loop": 1, "run": 1000, "evenkeel": {{ "steps": [ {{ "autogroup_nice": 5 }} ] }} }},
                "then": {{ "loop": -1, "run": 5000 }} }} }}, "#
        );
        let two = hogs(&[("two", 3, r#", "evenkeel": { "session": 2, "process": 2 }"#)]);
        near(per_mille(&scene(1, "", &(one + &two), 4000), ["one", "two"]), expected, 10);
    };
    check(1, [247, 753]);
    check(0, [500, 500]);
}

/// `sched_autogroup_enabled`.
#[test]
fn a_machine_may_have_no_autogroups() {
    let session = |number| format!(r#", "evenkeel": {{ "session": {number}, "process": {number} }}"#);
    let mut spec = scene(1, "", &hogs(&[("one", 1, &session(1)), ("two", 3, &session(2))]), 4000);
    near(per_mille(&spec, ["one", "two"]), [500, 500], 10);
    spec.machine.autogroup = false;
    near(per_mille(&spec, ["one", "two"]), [250, 750], 10);
}

/// The CPU time of each tenth of a second, in microseconds, of tasks in a group with this limit.
fn used_ms(cpus: u32, limit: &str, hogs_in_group: u32, ms: u64) -> u64 {
    let groups = format!(r#""/limited": {{ {limit} }}"#);
    let tasks = hogs(&[("hog", hogs_in_group, r#", "taskgroup": "/limited""#)]);
    let judgement = judge(&scene(cpus, &groups, &tasks, ms));
    let used: u64 = judgement.summary.tasks.iter().map(|task| task.cpu.as_ns()).sum();
    used / 1_000_000
}

/// `cpu.max`: time that tasks run beyond it, until a tick notices, is subtracted later.
#[test]
fn a_group_gets_its_quota_and_no_more() {
    let check = |cpus, limit: &str, hogs, expected_ms: u64| {
        let used = used_ms(cpus, limit, hogs, 4000);
        let quota = expected_ms / 40;
        assert!(
            used.abs_diff(expected_ms) <= quota + 2 * u64::from(cpus),
            "{limit}: {used} of {expected_ms} ms"
        );
    };
    check(1, r#""quota_us": 20000"#, 1, 800);
    check(1, r#""quota_us": 20000"#, 4, 800);
    check(1, r#""quota_us": 5000, "period_us": 10000"#, 2, 2000);
    // Four CPUs' worth, on eight.
    check(8, r#""quota_us": 400000"#, 16, 16_000);
    check(8, r#""quota_us": 20000"#, 8, 800);
    check(2, r#""quota_us": 250000"#, 2, 8000);
}

/// The limit of a group applies to all groups in it.
#[test]
fn a_limit_holds_for_groups_below() {
    let groups =
        r#""/top": { "quota_us": 30000 }, "/top/a": { "weight": 200 }, "/top/b": { "quota_us": 80000 }"#;
    let tasks = hogs(&[("a", 2, r#", "taskgroup": "/top/a""#), ("b", 2, r#", "taskgroup": "/top/b""#)]);
    let judgement = judge(&scene(1, groups, &tasks, 5000));
    let used = |name: &str| {
        let own = judgement.summary.tasks.iter().filter(|task| task.name.starts_with(name));
        own.map(|task| task.cpu.as_ns() / 1_000_000).sum::<u64>()
    };
    let (a, b) = (used("a"), used("b"));
    assert!((a + b).abs_diff(1500) <= 40 && a.abs_diff(1000) <= 40, "{a} {b}");
}

/// A task that waits for its group's time does not wait for a CPU: no CPU is wasted on it.
#[test]
fn throttled_tasks_are_no_waste() {
    let groups = r#""/limited": { "quota_us": 20000 }"#;
    let tasks = hogs(&[("hog", 4, r#", "taskgroup": "/limited""#)]);
    let judgement = judge(&scene(2, groups, &tasks, 2000));
    assert!(judgement.findings.is_empty(), "{:?}", judgement.findings);
    let waits: Span = judgement.summary.tasks.iter().map(|task| task.wait).fold(Span::ZERO, |a, b| a + b);
    // Four tasks throttled for nine tenths of two seconds.
    assert!(waits < Span::from_ms(1500), "{waits:?}");
}

/// If a limit is lifted, or a task leaves its group, the tasks continue at once.
#[test]
fn a_throttled_task_can_leave() {
    let groups = r#""/limited": { "quota_us": 1000 }, "/free": {}"#;
    let check = |act: &str| {
        let tasks = hogs(&[("hog", 1, r#", "taskgroup": "/limited""#)])
            + r#", "boss": { "loop": 1, "delay": 2000000, "run": 10, "evenkeel": { "steps": [ "#
            + act
            + " ] } }";
        let [hog] = [judge(&scene(1, groups, &tasks, 4000)).summary.tasks[0].cpu];
        assert!(hog > Span::from_ms(1950) && hog < Span::from_ms(2100), "{act}: {hog:?}");
    };
    check(r#"{ "set_cgroup": { "path": "/limited", "quota_us": 0 } }"#);
}

/// When the leaving CPU is offline.
#[derive(Default)]
struct Off(Option<Instant>);

impl Sink for Off {
    fn wants(&self) -> Class {
        Class::CORE
    }

    fn events(&mut self, events: &[Event]) {
        let is_off = |event: &&Event| matches!(event.what, What::Online { up: false, .. });
        self.0 = self.0.or(events.iter().find(is_off).map(|event| event.at));
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

/// Throttled tasks run so that a CPU can go offline (`unthrottle_offline_cfs_rqs()`): it does not wait for the next
/// period.
#[test]
fn a_cpu_goes_without_waiting_for_a_period() {
    let machine = machines::of_cpus(2);
    let text = r#"{ "evenkeel": { "cgroups": { "/a": { "quota_us": 1000, "period_us": 1000000 } },
            "timeline": [ { "at": 300000, "offline": [1] } ] },
        "tasks": { "hog": { "instance": 4, "loop": -1, "run": 5000, "taskgroup": "/a" } } }"#;
    let source = schedulers::source(schedulers::EEVDF).expect("eevdf is built in");
    let mut off = Off::default();
    let spec = spec(source, workload(text, &machine), machine, 600, 1);
    keel_lab::run(&spec, &mut off, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    let off = off.0.expect("CPU 1 goes");
    assert!(off < Instant::ZERO + Span::from_ms(310), "{off:?}");
}

/// CPUs that go off- and online while groups have limits and shares.
#[test]
fn cpus_come_and_go() {
    let machine = machines::of_cpus(4);
    let groups = r#""/a": { "quota_us": 150000 }, "/a/x": { "weight": 300 }, "/b": {}"#;
    let tasks = hogs(&[("x", 4, r#", "taskgroup": "/a/x""#), ("b", 6, r#", "taskgroup": "/b""#)]);
    let timeline = r#"[ { "at": 300000, "offline": [2, 3] }, { "at": 1200000, "online": [3] } ]"#;
    let text = format!(
        r#"{{ "evenkeel": {{ "cgroups": {{ {groups} }}, "timeline": {timeline} }}, "tasks": {{ {tasks} }} }}"#
    );
    let source = schedulers::source(schedulers::EEVDF).expect("eevdf is built in");
    let judgement = judge(&spec(source, workload(&text, &machine), machine, 2000, 1));
    let used = |name: &str| {
        let own = judgement.summary.tasks.iter().filter(|task| task.name.starts_with(name));
        own.map(|task| task.cpu.as_ns() / 1_000_000).sum::<u64>()
    };
    let (x, b) = (used("x"), used("b"));
    // Half of what is available: of four CPUs, then of two (a whole one each), then of three.
    assert!(x.abs_diff(450 + 900 + 1200) <= 100 && x + b > 5350, "{x} {b}");
}
