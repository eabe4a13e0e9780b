//! Bad files and the error message for each.

use keel_abi::Topology;
use keel_workload::{WorkloadError, parse};

fn refusal(text: &str) -> String {
    match parse("w.json", text, &Topology::regular(2, 1, 4, 1)) {
        Ok(_) => panic!("not refused: {text}"),
        Err(error) => error.to_string(),
    }
}

/// A file with one task that contains `body` must give the error `expected`, on line 2.
fn task(body: &str, expected: &str) {
    let text = format!("{{ \"tasks\": {{\n \"a\": {{ {body} }} }} }}");
    assert_eq!(refusal(&text), format!("w.json:2: tasks.a{expected}"));
}

fn file(text: &str, expected: &str) {
    assert_eq!(refusal(text), format!("w.json:{expected}"));
}

#[test]
fn the_error_names_file_line_and_field() {
    let text = "{ \"tasks\": { \"a\": {\n \"run\": 1,\n \"policy\": \"SCHED_DEADLINE\" } } }";
    let error = parse("dir/w.json", text, &Topology::flat(1)).expect_err("DEADLINE is refused");
    let problem = "SCHED_DEADLINE is not modelled; use SCHED_FIFO".to_owned();
    let field = "tasks.a.policy".to_owned();
    let expected =
        WorkloadError { file: "dir/w.json".to_owned(), line: 3, field, problem, unsupported: true };
    assert_eq!(error, expected);
}

#[test]
fn unsupported_and_wrong_input_differ() {
    let check = |file: &str, unsupported: bool| {
        let error = parse("w.json", file, &Topology::flat(2)).expect_err("it is refused");
        assert_eq!(error.unsupported, unsupported, "{file}: {error}");
    };
    let of_task = |body: &str, unsupported| {
        check(&format!(r#"{{ "tasks": {{ "a": {{ "run": 1, {body} }} }} }}"#), unsupported);
    };
    of_task(r#""mem": 1000"#, true);
    of_task(r#""mem7": 1000"#, true);
    of_task(r#""iorun": 1000"#, true);
    of_task(r#""policy": "SCHED_DEADLINE""#, true);
    of_task(r#""phases": { "p": { "run": 1, "policy": "SCHED_DEADLINE" } }"#, true);
    of_task(r#""exec": 5000"#, true);
    of_task(r#""policy": "SCHED_DEADLNE""#, false);
    of_task(r#""cpus": [7]"#, false);
    let of_timeline = |policy: &str, unsupported| {
        let entry = format!(r#"{{ "at": 1, "task": "a", "policy": "{policy}" }}"#);
        let tasks = r#""tasks": { "a": { "run": 1 } }"#;
        check(&format!(r#"{{ {tasks}, "evenkeel": {{ "timeline": [{entry}] }} }}"#), unsupported);
    };
    of_timeline("SCHED_FIFO", true);
    of_timeline("SCHED_DEADLINE", true);
    of_timeline("SCHED_SLOW", false);
    check(r#"{ "tasks": { "a": { "run": 1 } }, "global": { "default_policy": "SCHED_DEADLINE" } }"#, true);
    check("{", false);
}

#[test]
fn what_is_not_modelled_is_refused_by_name() {
    task(r#""policy": "SCHED_DEADLINE""#, ".policy: SCHED_DEADLINE is not modelled; use SCHED_FIFO");
    task(r#""mem": 1000"#, ".mem: mem is not modelled; use run for the time that it takes");
    task(r#""iorun": 1"#, ".iorun: iorun is not modelled; use run and sleep for the time that it takes");
    task(
        r#""exec": 5000, "period": 24000"#,
        ".exec: belongs to the grammar of old rt-app versions; describe the task with events",
    );
    file(
        r#"{ "tasks": { "a": { "run": 1 } }, "global": { "default_policy": "SCHED_DEADLINE" } }"#,
        "1: global.default_policy: SCHED_DEADLINE is not modelled; use SCHED_FIFO",
    );
}

#[test]
fn wrong_types_and_numbers_are_refused() {
    task(r#""run": "10""#, ".run: must be a whole number, not \"10\"");
    task(r#""run": 1.5"#, ".run: must be a whole number, not 1.5");
    task(r#""run": 1e3"#, ".run: must be a whole number, not 1e3");
    task(r#""sleep": -5"#, ".sleep: -5 is a negative time; times are in microseconds, from 0");
    task(
        r#""run": 99999999999"#,
        ".run: 99999999999 is not a time in microseconds; it must be 0 to 2147483647",
    );
    task(
        r#""run": 999999999999999999999999"#,
        ".run: 999999999999999999999999 is not a time in microseconds; it must be 0 to 2147483647",
    );
    task(r#""run": 1, "delay": -1"#, ".delay: -1 is a negative time; times are in microseconds, from 0");
    task(r#""lock": 3"#, ".lock: must be a string, not 3");
    task(r#""suspend": 3"#, ".suspend: must be a string, not 3");
    task(r#""timer": "t""#, ".timer: must be an object, not \"t\"");
    task(r#""timer": { "ref": "t" }"#, ".timer: a timer needs a \"period\" in microseconds");
    task(
        r#""timer": { "ref": "t", "period": 1, "mode": "odd" }"#,
        ".timer.mode: must be \"relative\" or \"absolute\", not \"odd\"",
    );
    task(
        r#""run": 1, "loop": -2"#,
        ".loop: -2 is not a number of passes (-1 is forever); it must be -1 to 2147483647",
    );
    task(r#""run": 1, "loop": 0"#, ".loop: 0 passes do nothing; rt-app would repeat forever, which is -1");
    task(
        r#""run": 1, "priority": 20"#,
        ".priority: 20 is not a priority of SCHED_OTHER (a nice value); it must be -20 to 19",
    );
    for priority in [0, 100] {
        task(
            &format!(r#""run": 1, "priority": {priority}, "policy": "SCHED_FIFO""#),
            &format!(".priority: {priority} is not a priority of a real-time policy; it must be 1 to 99"),
        );
    }
    // A phase keeps the policy of the phase before.
    task(
        r#""phases": { "a": { "run": 1, "policy": "SCHED_RR" }, "b": { "run": 1, "priority": -1 } }"#,
        ".phases.b.priority: -1 is not a priority of a real-time policy; it must be 1 to 99",
    );
    task(
        r#""run": 1, "policy": "FAIR""#,
        ".policy: there is no policy FAIR; use SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_EXT, SCHED_FIFO or SCHED_RR",
    );
    task(r#""run": 1, "phases": []"#, ".phases: must be an object, not a list");
    file(r#"{ "tasks": { "a": 3 } }"#, "1: tasks.a: must be an object, not 3");
    file(
        r#"{ "tasks": { "a": { "run": 1 } }, "global": { "gnuplot": 1 } }"#,
        "1: global.gnuplot: must be true or false, not 1",
    );
    file(
        r#"{ "tasks": { "a": { "run": 1 } }, "global": { "duration": -7 } }"#,
        "1: global.duration: -7 is not a duration in seconds (-1 is forever); it must be -1 to 2147483647",
    );
    file(
        r#"{ "tasks": { "a": { "run": 1 } }, "resources": { "x": { "type": "lamp" } } }"#,
        "1: resources.x.type: there is no resource type \"lamp\"",
    );
}

#[test]
fn the_machine_bounds_the_affinity() {
    task(
        r#""run": 1, "cpus": [0, 8]"#,
        ".cpus: there is no CPU 8 on this machine of 8 CPUs (numbered from 0)",
    );
    task(r#""run": 1, "cpus": [-1]"#, ".cpus: -1 is not a CPU; it must be 0 to 4294967295");
    task(r#""run": 1, "cpus": []"#, ".cpus: the list is empty; leave it out to allow every CPU");
    task(r#""run": 1, "cpus": 3"#, ".cpus: must be a list of numbers, not 3");
    task(
        r#""run": 1, "nodes_membind": [2]"#,
        ".nodes_membind: there is no node 2 on this machine of 2 nodes (numbered from 0)",
    );
    task(
        r#""run": 1, "evenkeel": { "nodes": [5] }"#,
        ".evenkeel.nodes: there is no node 5 on this machine of 2 nodes (numbered from 0)",
    );
    task(
        r#""run": 1, "cpus": [1], "evenkeel": { "nodes": [1] }"#,
        ": has both \"cpus\" and \"nodes\"; keep one of them",
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    task(
        r#""slep": 5"#,
        ".slep: is neither an event nor a setting; docs/reference/workloads.md lists both (a key that begins with _ is a \
         comment)",
    );
    task(r#""fork": "b""#, ".fork: there is no task \"b\" to fork");
    task("", ": has no event; give it something to do, such as \"run\": 1000");
    task(r#""phases": {}"#, ".phases: has no phase; give it one, or leave it out and list events");
    task(
        r#""phases": { "p": { "loop": 2 } }"#,
        ".phases.p: has no event; give it something to do, such as \"run\": 1000",
    );
    file(
        "{ \"tasks\": { \"a\": { \"instance\": 0,\n \"barrier\": \"b\" } } }",
        "2: tasks: the barrier at this line has no user: its tasks have 0 instances",
    );
    let idle = "loops without letting time pass; add a run, sleep or timer to the loop";
    let idles = [
        r#""signal": "c""#,
        r#""run": 0"#,
        r#""sleep": 0, "lock": "m", "unlock": "m""#,
        r#""loop": 2000000, "signal": "c""#,
        r#""barrier": "only me""#,
        r#""phases": { "p": { "loop": -1, "signal": "c" }, "q": { "run": 5 } }"#,
        r#""loop": 2000, "phases": { "p": { "loop": 2000, "signal": "c" }, "q": { "signal": "c" } }"#,
    ];
    for body in idles {
        let text = format!("{{ \"tasks\": {{ \"a\": {{ {body} }} }} }}");
        assert_eq!(refusal(&text), format!("w.json:1: tasks.a: {idle}"), "{body}");
    }
}

#[test]
fn extensions_are_checked() {
    task(
        r#""run": 1, "evenkeel": { "jitter_percent": 101 }"#,
        ".evenkeel.jitter_percent: 101 is not a jitter in percent; it must be 0 to 100",
    );
    task(
        r#""run": 1, "evenkeel": { "jiter": 1 }"#,
        ".evenkeel.jiter: is not an extension here; the extensions are jitter_percent, count, unit, nodes, rt_priority, rt_policy, process, session, pages, kthread, slice_us, cgroup, steps",
    );
    task(r#""run": 1, "evenkeel": true"#, ".evenkeel: must be an object, not true");
    file(
        r#"{ "evenkeel": { "unit": "a" }, "tasks": { "t": { "run": 1, "evenkeel": { "unit": "b" } } } }"#,
        "1: tasks.t.evenkeel.unit: a workload has one unit, and this one counts a already",
    );
    file(
        r#"{ "evenkeel": { "starter": { "apart": 5 } }, "tasks": {} }"#,
        "1: evenkeel.starter.apart: is not known; a starter has main_us, main_waits_us, apart_us, before_us and after_us",
    );
    file(
        r#"{ "evenkeel": { "starter": { "apart_us": -1 } }, "tasks": {} }"#,
        "1: evenkeel.starter.apart_us: -1 is not a time in microseconds; it must be 0 to 1000000",
    );
    file(
        r#"{ "evenkeel": { "duplicates": "first" }, "tasks": {} }"#,
        "1: evenkeel.duplicates: must be \"each\" or \"last\", not \"first\"",
    );
}

#[test]
fn what_is_no_json_is_refused() {
    file("", "1: the file is empty; it needs a \"tasks\" object");
    file("[]", "1: must be an object, not a list");
    file("{}", "1: the file has no \"tasks\" object");
    file("{ \"tasks\": {} }", "1: tasks: there is no task");
    file("{\n\"tasks\": {", "2: this is not JSON: unterminated object at '{'");
    file(
        "{\n\"tasks\" 3 }",
        "2: this is not JSON: expected colon after the string or word in object property at '3 }'",
    );
    file("{\n a: 1 }", "2: this is not JSON: expected string for object property at 'a: 1 }'");
    file("{} {}", "1: this is not JSON: text cannot contain more than one JSON value at '{}'");
    file("\u{1b}[2J", "1: a workload is an rt-app file, in JSON; it begins with '{', not with '\\u{1b}[2J'");
    file("\n[machine]\ncpus = 4\n", "2: this is not JSON: unexpected token at 'machine]'");
    file(
        "\nmachine = 4\n",
        "2: a workload is an rt-app file, in JSON; it begins with '{', not with 'machine = 4'",
    );
}

#[test]
fn absurd_counts_are_refused() {
    task(
        r#""run": 1, "instance": 1000001"#,
        ".instance: 1000001 is not a number of instances; it must be 0 to 1000000",
    );
    file(
        "{ \"tasks\": { \"a\": { \"run\": 1, \"instance\": 1000000 },\n \"b\": { \"run\": 1 } } }",
        "2: tasks.b: with this task there are more than 1000000 instances in all",
    );
    let body = "\"run\": 1, ".repeat(100_001);
    file(
        &format!("{{ \"tasks\": {{ \"a\": {{ {body} }} }} }}"),
        "1: tasks.a.run: a task has at most 100000 events",
    );
    let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    file(&text, &format!("1: this is not JSON: maximum nesting depth exceeded at '{}...'", "[".repeat(48)));
}

#[test]
fn timelines_are_checked() {
    let check = |entry: &str, expected: &str| {
        let tasks = r#""tasks": { "a": { "run": 1 } }"#;
        let text = format!("{{ {tasks}, \"evenkeel\": {{ \"timeline\": [\n{entry} ] }} }}");
        file(&text, &format!("2: evenkeel.timeline{expected}"));
    };
    check(r#"{ "offline": [1] }"#, ": does not say when; give \"at\" in microseconds");
    check(r#"{ "at": -1, "offline": [1] }"#, ".at: -1 is a negative time; times are in microseconds, from 0");
    check(
        r#"{ "at": 1, "offline": [8] }"#,
        ".offline: there is no CPU 8 on this machine of 8 CPUs (numbered from 0)",
    );
    check(r#"{ "at": 1, "online": [0, 1] }"#, ".online: CPU 0 stays online, as on x86; leave it out");
    check(
        r#"{ "at": 1, "offline": "1-8" }"#,
        ".offline: there is no CPU 8 on this machine of 8 CPUs (numbered from 0)",
    );
    check(
        r#"{ "at": 1, "online": "3-1" }"#,
        ".online: '3-1' is not a list of CPUs; write \"1-3,8\" or [1, 2, 3, 8]",
    );
    check(r#"{ "at": 1, "offline": "0-1" }"#, ".offline: CPU 0 stays online, as on x86; leave it out");
    check(r#"{ "at": 1, "offline": "" }"#, ".offline: the list is empty; leave it out to allow every CPU");
    check(r#"{ "at": 1, "offline": [] }"#, ".offline: the list is empty; leave it out to allow every CPU");
    let nothing = ": does not say what happens; give \"offline\" or \"online\" with CPUs, or a \"task\" with \
                   one of \"cpus\", \"nice\" and \"policy\"";
    check(r#"{ "at": 1 }"#, nothing);
    check(r#"{ "at": 1, "task": "a" }"#, nothing);
    check(r#"{ "at": 1, "cpus": [1] }"#, nothing);
    check(r#"{ "at": 1, "task": "a", "nice": 1, "policy": "SCHED_EXT" }"#, nothing);
    check(r#"{ "at": 1, "task": "a", "offline": [1] }"#, nothing);
    let policy = r#"{ "at": 1, "task": "a", "policy": "SCHED_FIFO" }"#;
    let known = "use SCHED_OTHER, SCHED_BATCH, SCHED_IDLE and SCHED_EXT";
    check(policy, &format!(".policy: SCHED_FIFO is not a policy that an entry can set; {known}"));
    check(r#"{ "at": 1, "offline": [1], "online": [2] }"#, nothing);
    check(r#"{ "at": 1, "task": "a", "cpus": [1], "nice": 1 }"#, nothing);
    check(r#"{ "at": 1, "task": "b", "nice": 1 }"#, ".task: there is no task \"b\"");
    check(r#"{ "at": 1, "task": "a", "nice": 20 }"#, ".nice: 20 is not a nice value; it must be -20 to 19");
    check(r#"{ "at": 1, "times": 2, "offline": [1] }"#, ": has \"times\" without \"every\"; give both");
    check(r#"{ "at": 1, "every": 0, "offline": [1] }"#, ".every: must be at least 1 microsecond");
    check(
        r#"{ "at": 1, "every": 9, "times": 0, "offline": [1] }"#,
        ".times: 0 is not a number of times; it must be 1 to 4294967295",
    );
    check(
        r#"{ "at": 1, "off": [1] }"#,
        ".off: is not a setting of an entry; the settings are at, every, times, offline, online, task, cpus, nice, policy",
    );
    check("7", ": must be an object, not 7");
    let many = vec![r#"{ "at": 1, "offline": [1] }"#; 10_001].join(",");
    let text = format!(r#"{{ "evenkeel": {{ "timeline": [{many}] }}, "tasks": {{ "a": {{ "run": 1 }} }} }}"#);
    file(&text, "1: evenkeel.timeline: a timeline has at most 10000 entries");
}

#[test]
fn extensions_for_processes_and_channels_are_checked() {
    let steps = |steps: &str, expected: &str| {
        task(&format!(r#""evenkeel": {{ "steps": [{steps}] }}"#), &format!(".evenkeel.steps{expected}"));
    };
    steps(r#"{ "run": 1, "sleep": 1 }"#, ": a step is one word and its value, such as {\"run\": 100}");
    steps("7", ": must be a step such as \"yield\" or {\"run\": 100}, not 7");
    steps(r#"{ "spawn": "b" }"#, ".spawn: there is no task \"b\" to spawn");
    steps(r#"{ "write": 0 }"#, ".write: 0 is not a number of pages; it must be 1 to 1048576");
    steps(r#"{ "raise": 1 }"#, ".raise: must be a string, not 1");
    steps(r#"{ "spin_barrier": 1 }"#, ".spin_barrier: must be a string, not 1");
    steps(r#"{ "spin_barrier": {} }"#, ".spin_barrier: needs the barrier's name in \"ref\"");
    steps(
        r#"{ "spin_barrier": { "ref": "b", "patience": 0 } }"#,
        ".spin_barrier.patience: must be at least 1 microsecond; use barrier to wait without spinning",
    );
    steps(
        r#"{ "spin_barrier": { "name": "b" } }"#,
        ".spin_barrier.name: is not a spin_barrier setting; the settings are ref, patience",
    );
    steps(r#"{ "send": { "bytes": 1 } }"#, ".send: needs both \"channel\" and \"bytes\"");
    steps(
        r#"{ "send": { "channel": "x", "bytes": 1 } }"#,
        ".send.channel: there is no channel \"x\" under evenkeel.channels at the top",
    );
    steps(
        r#""dance""#,
        ": there is no step dance; there are run, sleep, timer, fork, touch, write, spawn, send, receive, spin_barrier, \
         raise, lower, post, await, cgroup, cgroup_process, make_cgroup, remove_cgroup, set_cgroup, autogroup_nice, nice, \
         cpus, policy with a value, and yield, syscall, exec, setsid, wait_child, count, migrate_disable, \
         migrate_enable, every_cpu",
    );
    steps(r#"{ "cpus": [] }"#, ".cpus: the list is empty; leave it out to allow every CPU");
    steps(r#"{ "policy": { "priority": 5 } }"#, ".policy: needs the policy in \"name\"");
    steps(
        r#"{ "policy": { "name": "SCHED_BATCH", "priority": 5 } }"#,
        ".policy: only SCHED_FIFO and SCHED_RR have a priority here; use nice",
    );
    task(
        r#""run": 1, "evenkeel": { "rt_policy": "fifo" }"#,
        ".evenkeel: has an rt_policy without an rt_priority; give both",
    );
    task(
        r#""run": 1, "evenkeel": { "rt_priority": 100 }"#,
        ".evenkeel.rt_priority: 100 is not a real-time priority; it must be 1 to 99",
    );
    task(
        r#""run": 1, "evenkeel": { "slice_us": 50 }"#,
        ".evenkeel.slice_us: 50 is not a slice in microseconds; it must be 100 to 100000",
    );
    let channel = |body: &str, expected: &str| {
        let text = format!(
            r#"{{ "evenkeel": {{ "channels": {{ "c": {body} }} }}, "tasks": {{ "a": {{ "run": 1 }} }} }}"#
        );
        file(&text, &format!("1: evenkeel.channels.c{expected}"));
    };
    channel("{}", ": a channel needs its capacity in \"bytes\"");
    channel(
        r#"{ "kind": "fax", "bytes": 1 }"#,
        ".kind: must be \"pipe\", \"unix\", \"tcp\" or \"queue\", not \"fax\"",
    );
    channel(r#"{ "size": 1 }"#, ".size: is not a channel setting; the settings are kind, bytes");
}

#[test]
fn a_process_is_in_one_session() {
    let tasks = |b: &str, expected: &str| {
        let a = r#""a": { "run": 1, "evenkeel": { "session": 1 } }"#;
        file(&format!(r#"{{ "tasks": {{ {a}, "b": {{ "run": 1{b} }} }} }}"#), expected);
    };
    let advice = "give it a \"process\" of its own";
    tasks("", &format!("1: tasks.b: is in session 0, but its process 0 is in session 1; {advice}"));
    tasks(
        r#", "evenkeel": { "session": 2 }"#,
        &format!("1: tasks.b: is in session 2, but its process 0 is in session 1; {advice}"),
    );
    task(
        r#""run": 1, "evenkeel": { "session": -1 }"#,
        ".evenkeel.session: -1 is not a session; it must be 0 to 1000000",
    );
}

#[test]
fn cgroups_are_checked() {
    let top = |body: &str, expected: &str| {
        let text =
            format!(r#"{{ "evenkeel": {{ "cgroups": {{ {body} }} }}, "tasks": {{ "a": {{ "run": 1 }} }} }}"#);
        file(&text, &format!("1: evenkeel.cgroups{expected}"));
    };
    let no_path = "a cgroup is named by its path from the root, such as \"/a/b\"";
    for path in ["a", "", "//", "/a/", "/a//b", "/..", "/a/./b"] {
        top(&format!(r#""{path}": {{}}"#), &format!(".{path}: {no_path}"));
    }
    let deep = "/x".repeat(33);
    top(&format!(r#""{deep}": {{}}"#), &format!(".{}...: a path has at most 32 parts", &deep[..48]));
    top(r#""/": {}"#, "./: the root has no settings; leave it out");
    top(r#""/a": { "weight": 0 }"#, "./a.weight: 0 is not a weight; it must be 1 to 10000");
    top(r#""/a": { "weight": 10001 }"#, "./a.weight: 10001 is not a weight; it must be 1 to 10000");
    top(r#""/a": { "period_us": 999 }"#, "./a.period_us: 999 is not a period; it must be 1000 to 1000000");
    top(
        r#""/a": { "path": "/a" }"#,
        "./a.path: is not a cgroup setting; the settings are later, weight, idle, quota_us, period_us, burst_us",
    );
    file(
        r#"{ "evenkeel": { "cgroups": { "/a": { "later": true } } }, "tasks": { "a": { "run": 1, "taskgroup": "/a/b" } } }"#,
        "1: tasks: /a/b is there before the cgroup above it, which is made later",
    );
    task(r#""taskgroup": "tg1", "run": 1"#, &format!(".taskgroup: {no_path}"));
    let step = |step: &str, expected: &str| {
        task(&format!(r#""evenkeel": {{ "steps": [{step}] }}"#), &format!(".evenkeel.steps{expected}"));
    };
    let unknown = "there is no cgroup \"/x\" under evenkeel.cgroups at the top";
    step(r#"{ "cgroup": "/x" }"#, &format!(".cgroup: {unknown}"));
    step(r#"{ "autogroup_nice": 20 }"#, ".autogroup_nice: 20 is not a nice value; it must be -20 to 19");
    step(r#"{ "set_cgroup": { "path": "/x" } }"#, &format!(".set_cgroup.path: {unknown}"));
    step(r#"{ "set_cgroup": { "weight": 3 } }"#, ".set_cgroup: needs the cgroup's \"path\"");
    step(
        r#"{ "set_cgroup": { "path": "/", "weight": 3, "idle": true } }"#,
        ".set_cgroup: sets one thing: weight, idle, or quota_us with period_us and burst_us",
    );
    let many: Vec<String> = (0..10_001).map(|n| format!(r#""/g{n}": {{}}"#)).collect();
    top(&many.join(", "), "./g10000: a workload has at most 10000 cgroups");
}
