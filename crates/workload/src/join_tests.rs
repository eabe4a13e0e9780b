//! Tests joined workloads: what their names mean, and that no part changes another's items.

use super::*;
use crate::{generated, parse};
use keel_abi::cgroup::{Cgroup, CgroupId, CgroupStep};
use keel_abi::task::TimerMode;
use keel_abi::timeline::Change;
use keel_abi::{Span, Topology};

#[test]
fn a_name_is_split_where_no_file_has_it() {
    let check = |name: &str, files: &[&str], expected: &[&str]| {
        assert_eq!(parts(name, |path| files.contains(&path)).unwrap(), expected, "{name}");
    };
    check("hogs", &[], &["hogs"]);
    check("", &[], &[""]);
    check("a+chat:2:3:4+b.json", &[], &["a", "chat:2:3:4", "b.json"]);
    check("a+b.json", &["a+b.json"], &["a+b.json"]);
    check("x+a+b.json+y", &["a+b.json"], &["x", "a+b.json", "y"]);
    check("a+b+c", &["a", "a+b"], &["a+b", "c"]);
    let check = |name: &str, expected: &str| {
        assert_eq!(parts(name, |_| false).unwrap_err(), expected, "{name}");
    };
    check("a+", "part 2 of the joined workloads is empty; write A+B");
    check("+a", "part 1 of the joined workloads is empty; write A+B");
    check("a++b", "part 2 of the joined workloads is empty; write A+B");
    check("+", "part 1 of the joined workloads is empty; write A+B");
    check(&["a"; 17].join("+"), "more than 16 workloads are joined by '+'");
}

fn read(text: &str) -> Workload {
    parse("w.json", text, &Topology::flat(4)).unwrap().0
}

/// Uses one of everything that is numbered.
const ALL: &str = r#"{
    "evenkeel": { "unit": "turns", "channels": { "c": { "bytes": 8 } } },
    "global": { "duration": 3 },
    "tasks": {
        "a": { "instance": 2, "lock": "m", "wait": { "ref": "c", "mutex": "m" }, "unlock": "m", "barrier": "b",
               "timer": { "ref": "shared", "period": 10 }, "timer1": { "ref": "unique", "period": 10 },
               "evenkeel": { "process": 7, "session": 4, "steps": [ { "send": { "channel": "c", "bytes": 1 } },
               { "spin_barrier": "b" }, { "raise": "f" }, { "lower": "g" } ] } },
        "b": { "loop": 2, "signal": "c", "broad": "c", "suspend": "s", "fork": "a", "run": 5, "barrier": "b",
               "timer": { "ref": "shared", "period": 10 },
               "evenkeel": { "steps": [ { "receive": { "channel": "c", "bytes": 1 } }, { "spawn": "a" } ] } },
        "c": { "resume": "s", "sync": { "ref": "d", "mutex": "n" }, "run": 5 }
    }
}"#;

#[test]
fn each_part_has_its_own() {
    let one = read(ALL);
    let joined = join(vec![one.clone(), one.clone(), one.clone()]).unwrap();
    assert_eq!(joined.name, "w+w+w");
    assert_eq!((joined.tasks.len(), joined.barriers.len(), joined.channels.len()), (9, 3, 3));
    assert_eq!(joined.flags, 6);
    assert_eq!((joined.mutexes, joined.conditions), (3 * one.mutexes, 3 * one.conditions));
    assert_eq!(joined.timers, one.timers);
    let inherits = Workload { inheriting: vec![ObjectId(0)], ..one.clone() };
    let inheriting = join(vec![one.clone(), inherits]).unwrap().inheriting;
    assert_eq!(inheriting, [ObjectId(one.mutexes)]);
    assert_eq!((joined.duration, joined.unit.as_str()), (Some(Span::from_s(3)), "turns"));
    let names: Vec<&str> = joined.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "a#2", "b#2", "c#2", "a#3", "b#3", "c#3"]);
    let processes: Vec<u32> = joined.tasks.iter().map(|task| task.process).collect();
    assert_eq!(processes, [0, 1, 1, 2, 3, 3, 4, 5, 5]);
    // Each part is started from a terminal of its own.
    let sessions: Vec<u32> = joined.tasks.iter().map(|task| task.session).collect();
    assert_eq!(sessions, [1, 2, 2, 3, 4, 4, 5, 6, 6]);
    let third = |task: usize| &joined.tasks[6 + task].steps;
    for (task, steps) in one.tasks.iter().enumerate() {
        assert_eq!(joined.tasks[task].steps, steps.steps, "the first part stays as it is");
    }
    let spin = Step::SpinBarrier { barrier: ObjectId(2), patience: None };
    let flags = [Step::Raise(ObjectId(4)), Step::Lower(ObjectId(5))];
    for expected in [Step::Lock(ObjectId(6)), Step::Barrier(ObjectId(2)), spin].into_iter().chain(flags) {
        assert!(third(0).contains(&expected), "{expected:?} in {:?}", third(0));
    }
    let spec = 6;
    assert!(third(1).contains(&Step::Fork(spec)) && third(1).contains(&Step::Spawn(spec)));
    assert!(third(0).contains(&Step::Send { channel: ObjectId(2), bytes: 1 }));
    let timers = |task: usize| {
        let timer = |step: &Step| match step {
            Step::Timer { timer, mode: TimerMode::Relative, .. } => Some(timer.0),
            _ => None,
        };
        joined.tasks[task].steps.iter().filter_map(timer).collect::<Vec<_>>()
    };
    let own = one.timers;
    assert_eq!([timers(0)[0], timers(3)[0], timers(6)[0]], [own, own + 1, own + 2]);
    assert_eq!([timers(1)[0], timers(4)[0], timers(7)[0]], [own, own + 1, own + 2]);
}

#[test]
fn timelines_all_happen_each_about_its_own_tasks() {
    let part = |nice| {
        let text = format!(
            r#"{{ "tasks": {{ "a": {{ "run": 1 }}, "b": {{ "run": 1 }} }}, "evenkeel": {{ "timeline": [
                {{ "at": 5, "task": "b", "nice": {nice} }}, {{ "at": 6, "offline": [1] }},
                {{ "at": 7, "task": "a", "policy": "SCHED_EXT" }} ] }} }}"#
        );
        read(&text)
    };
    let joined = join(vec![part(1), part(2)]).unwrap();
    let specs: Vec<_> = joined.timeline.iter().map(|happening| happening.change.spec()).collect();
    assert_eq!(specs, [Some(1), None, Some(0), Some(3), None, Some(2)]);
    let policy = Change::Policy { spec: 2, policy: keel_abi::task::Policy::Ext };
    assert_eq!(joined.timeline[5].change, policy);
    let many =
        |entries| Workload { timeline: vec![part(1).timeline[1].clone(); entries], ..Workload::default() };
    assert!(join(vec![many(5000), many(5000)]).is_ok());
    let error = join(vec![many(5000), many(5001)]).unwrap_err();
    assert_eq!(error, "together their timelines have more than 10000 entries");
}

#[test]
fn names_stay_unique_within_the_kernels_limit() {
    let named = |names: &[&str]| Workload {
        tasks: names
            .iter()
            .map(|name| TaskSpec { name: (*name).to_owned(), ..TaskSpec::default() })
            .collect(),
        ..Workload::default()
    };
    let check = |parts: &[&[&str]], expected: &[&str]| {
        let joined = join(parts.iter().map(|names| named(names)).collect()).unwrap();
        assert_eq!(joined.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), expected);
    };
    check(&[&["h", "h"], &["h", "i", "h"]], &["h", "h", "h#2", "i", "h#2"]);
    check(&[&["chat_c-receives"], &["chat_c-receives"]], &["chat_c-receives", "chat_c-receiv#2"]);
    check(&[&["a-very-long-name-1"], &["a-very-long-name-2"]], &["a-very-long-name-1", "a-very-long-n#2"]);
    check(&[&["h", "h#2"], &["h"], &["h"]], &["h", "h#2", "h#3", "h#4"]);
    check(&[&["h"], &["h", "h#2"]], &["h", "h#3", "h#2"]);
    check(&[&["ääääääää"], &["ääääääää"]], &["ääääääää", "ääääää#2"]);
}

#[test]
fn the_first_part_counts_where_units_differ() {
    let check = |parts: &[&str], unit: &str, counting: &[&str]| {
        let parts = parts.iter().map(|name| generated(name, 4).unwrap().unwrap()).collect();
        let joined = join(parts).unwrap();
        assert_eq!(joined.unit, unit);
        let counts = joined.tasks.iter().filter(|task| task.steps.contains(&Step::Count));
        let names: BTreeSet<&str> = counts.map(|task| task.name.as_str()).collect();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), counting);
    };
    check(&["pipe", "null"], "round trips", &["lat_pipe"]);
    check(&["pipe", "pipe"], "round trips", &["lat_pipe", "lat_pipe#2"]);
    let again = |to| Step::Loop { to, times: None, slot: 0 };
    let steps =
        [Step::Count, Step::Yield, Step::Count, Step::Exec, again(1), again(0), Step::Count, again(3)];
    assert_eq!(without_counts(&steps), [Step::Yield, Step::Exec, again(0), again(0), again(1)]);
}

#[test]
fn together_they_are_bounded() {
    let crowd = || generated("hogs:600000", 4).unwrap().unwrap();
    assert!(join(vec![crowd()]).is_ok());
    assert_eq!(join(vec![crowd(), crowd()]).unwrap_err(), "together they have more than 1000000 instances");
}

#[test]
fn cgroups_of_one_path_are_one_with_the_first_parts_settings() {
    let part = |text: &str| crate::parse("w.json", text, &keel_abi::Topology::flat(1)).unwrap().0;
    let first = part(
        r#"{ "evenkeel": { "cgroups": { "/a": { "weight": 7 } } }, "tasks": { "t": { "run": 1, "taskgroup": "/a" } } }"#,
    );
    let second = part(
        r#"{ "evenkeel": { "cgroups": { "/b": { "weight": 8 }, "/a": { "weight": 9 }, "/a/c": { "weight": 10 } } },
             "tasks": { "t": { "run": 1, "taskgroup": "/a/c", "evenkeel": { "cgroup": "/b" } } } }"#,
    );
    let joined = join(vec![first, second]).unwrap();
    let all = joined.cgroups.iter().map(|c| (c.path.as_str(), c.parent.0, c.weight)).collect::<Vec<_>>();
    assert_eq!(all, [("/a", 0, 7), ("/b", 0, 8), ("/a/c", 1, 10)]);
    let joins = |task: usize, id| {
        let step = Step::Cgroup(CgroupStep::Join(CgroupId(id)));
        assert!(joined.tasks[task].steps.contains(&step), "{:?}", joined.tasks[task].steps);
    };
    joins(0, 1);
    joins(1, 3);
    assert_eq!((joined.tasks[0].cgroup, joined.tasks[1].cgroup), (None, Some(CgroupId(2))));
    let many = |from: u32| {
        let mut text = part(r#"{ "tasks": { "t": { "run": 1 } } }"#);
        let one = |n| Cgroup {
            path: format!("/{n}"),
            parent: CgroupId::ROOT,
            is_there: true,
            weight: 100,
            bandwidth: keel_abi::cgroup::Bandwidth::default(),
            idle: false,
        };
        text.cgroups = (from..from + 6000).map(one).collect();
        text
    };
    assert!(join(vec![many(0), many(1000)]).is_ok());
    assert_eq!(join(vec![many(0), many(6000)]).unwrap_err(), "together they have more than 10000 cgroups");
}
