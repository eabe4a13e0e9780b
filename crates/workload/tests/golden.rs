//! Small files and the resulting steps.

mod common;

use common::listing;
use keel_abi::Topology;
use keel_workload::{built_in, built_in_names, parse};

/// Eight CPUs on two nodes.
fn compiled(text: &str) -> String {
    match parse("w.json", text, &Topology::regular(2, 1, 4, 1)) {
        Ok((workload, warnings)) => listing(&workload, &warnings),
        Err(error) => panic!("{error}"),
    }
}

macro_rules! golden {
    ($name:ident, $text:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(compiled($text));
        }
    };
}

golden!(
    events_are_known_by_prefix_and_keep_their_order,
    r#"{ "tasks": { "a": { "sleep2": 20, "run1": 10, "runtime": 30, "run": 0, "yield": "", "loop": 3 } } }"#
);

golden!(
    phases_loop_inside_the_task_and_change_cpus_and_nice,
    r#"{
    "tasks": {
        "a": {
            "cpus": [1], "priority": 2, "delay": 500, "instance": 2,
            "phases": {
                "one": { "loop": 10, "run": 1, "cpus": [0, 3] },
                "two": { "run": 2, "priority": -5 },
                "three": { "loop": -1, "sleep": 3, "policy": "SCHED_IDLE" }
            }
        },
        "b": { "loop": 1, "phases": { "one": { "run": 1 }, "two": { "run": 2, "cpus": [7] } } },
        "c": { "loop": 0, "phases": { "one": { "run": 1 } } }
    }
}"#
);

golden!(
    a_starter_makes_a_main_thread_for_each_process,
    r#"{
    "evenkeel": { "starter": { "main_us": 20000, "main_waits_us": 9000, "apart_us": 500, "before_us": 1600, "after_us": 1000 } },
    "tasks": {
        "a": { "instance": 2, "priority": 3, "cpus": [1], "delay": 700, "run": 10, "barrier": "b" },
        "b": { "policy": "SCHED_FIFO", "priority": 7, "sleep": 20, "barrier": "b" },
        "c": { "run": 30, "evenkeel": { "process": 1, "session": 4 } },
        "d": { "instance": 0, "run": 40 },
        "e": { "run": 50, "evenkeel": { "kthread": true } }
    }
}"#
);

golden!(
    locks_conditions_and_barriers_are_made_when_first_used,
    r#"{
    "resources": { "m": { "type": "mutex" } },
    "tasks": {
        "a": { "lock": "m", "wait": { "ref": "c", "mutex": "m" }, "unlock": "m", "barrier": "b" },
        "b": { "instance": 3, "lock": "n", "signal": "c", "broad": "d", "unlock": "n", "barrier": "b",
               "sync": { "ref": "d", "mutex": "n" } },
        "c": { "wait": {} }
    }
}"#
);

golden!(
    waits_that_keep_a_cpu_busy_are_steps,
    r#"{ "tasks": {
        "a": { "barrier": "b", "evenkeel": { "steps": [
            { "spin_barrier": "b" }, { "raise": "f" }, { "lower": "g" }, { "spin_barrier": { "ref": "c", "patience": 3000 } } ] } },
        "b": { "instance": 3, "run": 1, "phases": { "one": { "run": 1, "evenkeel": { "steps": [
            { "spin_barrier": { "ref": "c" } }, { "lower": "f" }, { "raise": "g" } ] } } } }
    } }"#
);

golden!(
    suspend_without_a_name_means_the_task_itself,
    "{ \"tasks\": {\n \"a\": {\n \"suspend\",\n \"run\": 5 },\n \"b\": { \"suspend\": \"\", \"resume\": \"a\" } } }"
);

golden!(
    suspend_waits_on_the_condition_of_its_name,
    r#"{ "tasks": {
        "a": { "suspend": "x", "run": 1 },
        "b": { "resume": "x", "run": 1 },
        "c": { "lock": "x", "signal": "x", "unlock": "x", "run": 1 }
    } }"#
);

golden!(
    uses_in_phases_are_seen_from_other_tasks,
    r#"{ "tasks": {
        "a": { "suspend": "x", "run": 1 },
        "b": { "timer": { "ref": "t", "period": 5 } },
        "c": { "phases": { "p": { "wait": { "ref": "x", "mutex": "m" } }, "q": { "fork": "b" } } }
    } }"#
);

golden!(
    timers_are_own_or_shared_and_absolute_for_all_uses,
    r#"{ "tasks": {
        "a": { "instance": 2, "phases": {
            "one": { "timer": { "ref": "uniqueA", "period": 10 } },
            "two": { "timer": { "ref": "unique", "period": 20, "mode": "relative" } } } },
        "b": { "timer": { "ref": "alone", "period": 30 } },
        "c": { "timer1": { "ref": "common", "period": 40 }, "timer2": { "ref": "common", "period": 50 } },
        "d": { "timer": { "ref": "common", "period": 60, "mode": "absolute" } },
        "e": { "instance": 2, "timer": { "ref": "among instances", "period": 70 } }
    } }"#
);

golden!(
    repeated_keys_are_events_each_and_other_keys_keep_the_last_value,
    r#"{ "tasks": {
        "a": { "run": 1, "loop": 2, "sleep": 2, "run": 3, "loop": 4 },
        "b": { "phases": { "p": { "run": 1 }, "q": { "run": 2 }, "p": { "run": 3 } } },
        "a": { "run": 7, "sleep": 8, "run": 9 }
    } }"#
);

golden!(
    repeated_events_can_be_read_as_rt_app_alone_reads_them,
    r#"{ "evenkeel": { "duplicates": "last" }, "tasks": { "a": { "run": 1, "sleep": 2, "run": 3 } } }"#
);

golden!(
    what_json_c_accepts_is_accepted,
    "{ // a comment\n 'tasks': { /* another\n one */ \"a\": { \"run\": 1, }, },\n}\n\n"
);

golden!(
    settings_without_effect_are_remarked_on,
    r#"{
    "global": { "duration": 6, "calibration": "CPU0", "default_policy": "SCHED_BATCH", "pi_enabled": true,
                "lock_pages": true, "logdir": "./", "log_size": 2, "ftrace": "main,task", "frag": 1 },
    "tasks": { "a": { "run": 1, "nodes_membind": [1], "util_max": 512, "dl-runtime": 3, "taskgroup": "" },
               "b": { "run": 1, "phases": { "p": { "run": 2, "delay": 3 } } } },
    "authors": "nobody", "_note": "a comment"
}"#
);

golden!(
    extensions_vary_count_and_confine,
    r#"{
    "evenkeel": { "jitter_percent": 10, "unit": "requests" },
    "tasks": {
        "a": { "run": 100, "sleep": 200, "evenkeel": { "jitter_percent": 50, "count": true, "nodes": [1] } },
        "b": { "runtime": 100, "run": 1000 },
        "c": { "phases": {
            "p": { "loop": 3, "run": 100, "evenkeel": { "count": true, "jitter_percent": 0 } },
            "q": { "run": 100, "evenkeel": { "nodes": [0, 1] } } } }
    }
}"#
);

golden!(
    extensions_bring_channels_processes_and_hints,
    r#"{
    "evenkeel": { "unit": "messages", "channels": { "there": { "bytes": 4096 },
                                                    "back": { "kind": "tcp", "bytes": 100 } } },
    "tasks": {
        "a": { "run": 5, "evenkeel": { "process": 1, "session": 3, "pages": 100, "rt_priority": 50, "steps": [
            { "send": { "channel": "there", "bytes": 4 } }, { "receive": { "channel": "back", "bytes": 8 } },
            { "spawn": "child" }, { "write": 8 }, "wait_child", { "touch": 65536 }, "count" ] }, "sleep": 7 },
        "child": { "instance": 0, "loop": 1, "phases": { "p": { "evenkeel": { "steps": [
            "setsid", "exec", { "run": 100 }, { "sleep": 10 }, "yield", "syscall" ] } } },
            "evenkeel": { "rt_priority": 1, "rt_policy": "rr" } }
    }
}"#
);

golden!(
    policies_and_spells_without_migration_are_steps,
    r#"{ "tasks": {
        "watcher": { "policy": "SCHED_FIFO", "priority": 80, "run": 5, "timer": { "ref": "t", "period": 100 } },
        "worker": { "phases": {
            "calm": { "run": 10, "evenkeel": { "steps": [
                "migrate_disable", { "run": 100 }, "migrate_enable" ] } },
            "urgent": { "run": 10, "policy": "SCHED_RR" },
            "more": { "run": 10, "priority": 20 },
            "back": { "run": 10, "policy": "SCHED_OTHER", "priority": 5 } } },
        "kernel": { "run": 3, "cpus": [0], "evenkeel": { "kthread": true } }
    } }"#
);

golden!(
    cgroups_are_declared_joined_and_changed,
    r#"{
    "evenkeel": { "cgroups": { "/a/b": { "weight": 300 }, "/a": { "weight": 200, "quota_us": 20000, "burst_us": 5 },
                               "/late": { "later": true, "idle": true, "quota_us": 0, "period_us": 5000 } } },
    "tasks": {
        "a": { "run": 5, "evenkeel": { "cgroup": "/a/b", "steps": [
            { "make_cgroup": "/late" }, { "cgroup": "/late" }, { "cgroup_process": "/" }, { "remove_cgroup": "/late" },
            { "set_cgroup": { "path": "/a", "weight": 7 } }, { "set_cgroup": { "path": "/a", "idle": true } },
            { "set_cgroup": { "path": "/a", "quota_us": 1000, "period_us": 2000 } } ] } },
        "b": { "loop": 2, "taskgroup": "/made/by/rt-app", "phases": {
            "p": { "run": 1 }, "q": { "taskgroup": "/a", "run": 2 }, "r": { "taskgroup": "/", "run": 3 } } },
        "c": { "loop": 1, "taskgroup": "/a", "run": 1 }
    }
}"#
);

golden!(
    a_task_forks_another_wherever_it_stands,
    r#"{ "tasks": { "parent": { "fork": "child", "sleep": 1000 },
                    "child": { "instance": 0, "loop": 1, "run": 5, "timer": { "ref": "t", "period": 9 } } } }"#
);

#[test]
fn the_built_in_files_compile_without_a_remark() {
    let texts = built_in_names().map(|name| {
        let text = built_in(name).expect("it is listed");
        let (workload, warnings) = parse(name, text, &Topology::flat(64)).expect(name);
        assert_eq!(warnings, []);
        listing(&workload, &warnings)
    });
    insta::assert_snapshot!(texts.collect::<Vec<_>>().join("\n"));
    assert!(built_in("mix-64.json").is_some());
    assert!(built_in("nothing").is_none());
}

#[test]
fn the_documented_example_compiles() {
    let page = include_str!("../../../docs/reference/workloads.md");
    let example =
        page.split("```json").nth(1).and_then(|rest| rest.split("```").next()).expect("there is one");
    assert!(compiled(example).contains("counts requests"));
}

#[test]
fn mutexes_hand_priorities_on_where_the_file_says_so() {
    let text = |global: &str| {
        format!(
            r#"{{ "global": {{ {global} }}, "tasks": {{ "a": {{ "lock": "m", "run": 1, "unlock": "m", "suspend": "s" }} }} }}"#
        )
    };
    let inheriting =
        |global: &str| compiled(&text(global)).contains("mutexes that hand priorities on: [0, 1]");
    assert!(inheriting(r#""pi_enabled": true"#));
    assert!(!inheriting(r#""pi_enabled": false"#) && !inheriting(""));
}
