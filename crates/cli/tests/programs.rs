//! `keel sim -- PROGRAM`: a program on libbpf, from its start to SIGINT.

use keel_bpfc::Compiler;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Compiles the program and its scheduler.
fn build(folder: &Path) -> (PathBuf, PathBuf) {
    let compiler = Compiler::new(ROOT).include("schedulers/include").include("crates/kernel/btf");
    let object = folder.join("shared.bpf.o");
    std::fs::write(&object, compiler.compile("tests/programs/shared.bpf.c").unwrap()).unwrap();
    let program = folder.join("shared");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"]).arg(&program);
    cc.args(
        ["shared.c", "arena.c", "maps.c", "sockets.c", "host.c", "names.c", "tasks.c"]
            .map(|source| Path::new(ROOT).join("tests/programs").join(source)),
    );
    let built = cc.args(["-lbpf", "-lelf", "-lz", "-lpthread"]).output().expect("there is a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    (program, object)
}

fn keel(folder: &Path, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    keel_for("3s", folder, options, program, arguments)
}

fn keel_for(time: &str, folder: &Path, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keel"));
    command.args(["sim", "--duration", time]).args(options).current_dir(folder);
    command.arg("--").arg(program).args(arguments).output().expect("keel runs")
}

#[test]
fn a_program_runs_from_its_start_to_sigint_and_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (program, _) = build(folder.path());
    // As a user names it: keel starts in this folder.
    let object = "shared.bpf.o";
    let run = |name: &str, cpus: &str| {
        let (trace, log) = (format!("{name}.trace"), format!("{name}.log"));
        let options =
            ["--workload", "mix:20:80", "--machine", cpus, "--trace", &trace, "--program-log", &log];
        let output = keel(folder.path(), &options, &program, &[object, "all"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{name}");
        let bytes = |file: &str| std::fs::read(folder.path().join(file)).unwrap();
        (bytes(&trace), String::from_utf8(bytes(&log)).unwrap())
    };
    for cpus in ["1", "8"] {
        let (trace, log) = run("first", cpus);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.first(), Some(&format!("{cpus} CPUs, answer 42").as_str()), "{log}");
        assert!(lines.iter().any(|line| line.contains("told yes") && line.ends_with("bss shared")), "{log}");
        assert_eq!(lines[lines.len() - 2], "drained in order", "{log}");
        let last = "detached, exit kind 64, registered 1 times, 1000 Hz, busy at times, at home";
        assert_eq!(lines.last(), Some(&last), "{log}");
        let again = run("second", cpus);
        assert!(again.0 == trace && again.1 == log, "two runs on {cpus} CPUs differ");
    }
}

/// Compiles a scheduler of `tests/programs`, and the program that loads any.
fn loader(scheduler: &str, folder: &Path) -> (PathBuf, PathBuf) {
    let compiler = Compiler::new(ROOT).include("schedulers/include").include("crates/kernel/btf");
    let object = folder.join(format!("{scheduler}.bpf.o"));
    let source = format!("tests/programs/{scheduler}.bpf.c");
    std::fs::write(&object, compiler.compile(&source).unwrap()).unwrap();
    let program = folder.join("load");
    let mut cc = Command::new("cc");
    cc.arg("-o").arg(&program).arg(Path::new(ROOT).join("tests/programs/load.c"));
    let built = cc.args(["-lbpf", "-lelf", "-lz"]).status();
    assert!(built.expect("there is a C compiler").success());
    (program, object)
}

#[test]
fn a_program_may_attach_a_scheduler_that_goes_by_cids() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = loader("by_cid", folder.path());
    let options = ["--machine", "4", "--workload", "mix:8:60", "--json", "--program-log", "said.log"];
    let output = keel_for("200ms", folder.path(), &options, &program, &[object.to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &report["exit"]["kind"]), (Some(0), &"none".into()), "{report}");
    let log = std::fs::read_to_string(folder.path().join("said.log")).unwrap();
    assert_eq!(log.lines().collect::<Vec<_>>(), ["attached", "detached"], "{log}");
}

#[test]
fn a_schedulers_link_can_be_looked_at_and_detached() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = loader("by_cid", folder.path());
    let object = object.to_str().unwrap();
    let options = ["--machine", "4", "--workload", "mix:8:60", "--program-log", "said.log"];
    let output = keel_for("200ms", folder.path(), &options, &program, &[object, "link"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    let log = std::fs::read_to_string(folder.path().join("said.log")).unwrap();
    let expected = [
        "link: done",
        "info: done",
        "id: done",
        "type 9, the same 1",
        "update: Operation not supported",
        "update from a link: Invalid argument",
        "delete: Operation not supported",
        "again: Device or resource busy",
        "detach: done",
        "again: done",
    ];
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
    // Detached too early, it ends the run.
    let output = keel_for("200ms", folder.path(), &options, &program, &[object, "early"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let why = "keel: load: it detached its scheduler before the run's end";
    assert!(output.status.code() == Some(3) && stderr.starts_with(why), "{stderr}");
}

#[test]
fn a_program_whose_scheduler_the_kernel_rejects_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = loader("rejected", folder.path());
    let options = ["--machine", "2", "--workload", "mix:4:50", "--program-log", "said.log"];
    let output = keel_for("200ms", folder.path(), &options, &program, &[object.to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && stderr.contains("load ended with exit code 2"), "{stderr}");
    let log = std::fs::read_to_string(folder.path().join("said.log")).unwrap();
    assert!(log.contains("not attached"), "{log}");
}

#[test]
fn a_program_loads_its_scheduler_again_when_a_cpu_comes_or_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let run = |name: &str, how: &str| {
        let options = ["--workload", "mix:8:60+hotplug:3:500:1000", "--machine", "4", "--program-log", name];
        let output = keel(folder.path(), &options, &program, &[object.to_str().unwrap(), how]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
        std::fs::read_to_string(folder.path().join(name)).unwrap()
    };
    // One opens its object again, the other executes itself again.
    for how in ["all", "execute"] {
        let log = run("first.log", how);
        let begun: Vec<&str> = log.lines().filter(|line| line.ends_with("answer 42")).collect();
        assert_eq!(begun[..3], ["4 CPUs, answer 42", "3 CPUs, answer 42", "4 CPUs, answer 42"], "{log}");
        // SCX_EXIT_UNREG_KERN, and at last SCX_EXIT_UNREG.
        let ended: Vec<&str> =
            log.lines().filter_map(|line| line.strip_prefix("detached, exit kind ")).collect();
        assert!(ended[0].starts_with("66, registered 1 times"), "{log}");
        assert!(ended.last().is_some_and(|line| line.starts_with("64, registered 1 times")), "{log}");
        assert_eq!(run("second.log", how), log);
    }
}

#[test]
fn a_scheduler_that_is_to_be_back_when_the_run_ends_has_not_failed() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    // The program looks every 100 ms: it has not noticed yet.
    let options = ["--workload", "mix:8:60+hotplug:3:950:5000", "--machine", "4", "--program-log", "log"];
    let output = keel_for("1s", folder.path(), &options, &program, &[object.to_str().unwrap(), "all"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let ended: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("detached, exit kind ")).collect();
    assert!(ended.len() == 2 && ended[0].starts_with("66,") && ended[1].starts_with("64,"), "{log}");
}

#[test]
fn a_program_loads_more_before_and_beside_its_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let run = |name: &str, engine: &str| {
        let (trace, log) = (format!("{name}.trace"), format!("{name}.log"));
        let options = [
            ["--workload", "mix:8:60+hotplug:3:500:1000", "--machine", "4"],
            ["--engine", engine, "--trace", &trace],
        ];
        let options = [&options.concat()[..], &["--program-log", &log]].concat();
        let output = keel(folder.path(), &options, &program, &[object.to_str().unwrap(), "later"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
        let bytes = |file: &str| std::fs::read(folder.path().join(file)).unwrap();
        (bytes(&trace), String::from_utf8(bytes(&log)).unwrap())
    };
    let (trace, log) = run("native", "native");
    let begun: Vec<&str> = log.lines().filter(|line| line.contains("answer 42")).collect();
    let beside = "beside: answer 42, traces, 1000 Hz";
    let expected = [
        "before: answer 42, nothing to trace, 1000 Hz",
        "4 CPUs, answer 42",
        beside,
        "3 CPUs, answer 42",
        beside,
    ];
    assert_eq!(begun[..5], expected, "{log}");
    assert!(log.lines().last().is_some_and(|line| line.starts_with("detached, exit kind 64")), "{log}");
    for engine in ["interpreter", "cranelift"] {
        let again = run(engine, engine);
        assert!(again.0 == trace && again.1 == log, "native and {engine} differ");
    }
}

#[test]
fn what_goes_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let object = object.to_str().unwrap();
    let check = |arguments: &[&str], expected: &str, printed: &str| {
        let options = ["--program-log", "said.log", "--trace", "run.trc"];
        let output = keel(folder.path(), &options, &program, arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        let log = std::fs::read_to_string(folder.path().join("said.log")).unwrap();
        assert!(log.contains(printed), "{arguments:?}: {log}");
        std::fs::remove_file(folder.path().join("said.log")).unwrap();
    };
    check(&["no.bpf.o"], "attached no scheduler: it ended with exit code 1", "no.bpf.o");
    check(&[object, "exit"], "ended before the run did, with exit code 7", "answer 42");
    check(&[object, "exec"], "ended before the run did, with exit code 9", "answer 42");
    check(&[object, "again"], "ended before the run did, with exit code 1", "no.bpf.o");
    check(&[object, "crash"], "ended before the run did, with exit code 134", "answer 42");
    check(&[object, "kill"], "ended before the run did, with exit code 137", "answer 42");
    assert!(
        !folder.path().join("run.trc").exists(),
        "a run that failed leaves nothing but what the program said"
    );
    check(&[object, "hang"], "did not end when it got SIGINT", "answer 42");
}

#[test]
fn cgroupfs_has_the_workloads_cgroups() {
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("grouped.json");
    let text = r#"{ "evenkeel": { "cgroups": { "/web": { "weight": 300 }, "/web/deep": { "quota_us": 20000, "period_us": 50000 } } },
        "tasks": { "a": { "run": 100, "evenkeel": { "cgroup": "/web/deep" } } } }"#;
    std::fs::write(&workload, text).unwrap();
    let check = |command: &[&str], expected: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_keel"))
            .args(["sim", "--machine", "2", "--duration", "20ms", "--workload"])
            .arg(&workload)
            .arg("--")
            .args(command)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(&format!("its last output: {expected}\n")), "{command:?}: {stderr}");
    };
    check(&["cat", "/sys/fs/cgroup/web/cpu.weight"], "300");
    check(&["cat", "/sys/fs/cgroup/web/deep/cpu.max"], "20000 50000");
    check(
        &["stat", "-c", "%i", "/sys/fs/cgroup", "/sys/fs/cgroup/web", "/sys/fs/cgroup/web/deep"],
        "1 | 65 | 129",
    );
}

#[test]
fn cgroupfs_follows_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let text = r#"{ "evenkeel": { "cgroups": { "/web": { "weight": 300 }, "/late": { "later": true, "weight": 70 } } },
        "tasks": {
            "pair": { "instance": 2, "run": 100, "sleep": 900, "evenkeel": { "cgroup": "/web" } },
            "boss": { "loop": 1, "delay": 1000000, "run": 10, "evenkeel": { "steps": [
                { "set_cgroup": { "path": "/web", "weight": 40 } }, { "make_cgroup": "/late" },
                { "cgroup_process": "/late" }, { "sleep": 1000000 },
                { "cgroup_process": "/" }, { "remove_cgroup": "/late" }, { "sleep": 5000000 } ] } } } }"#;
    std::fs::write(folder.path().join("w.json"), text).unwrap();
    let options = ["--workload", "w.json", "--machine", "2", "--program-log", "said.log"];
    let output = keel(folder.path(), &options, &program, &[object.to_str().unwrap(), "cgroups"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
    let log = std::fs::read_to_string(folder.path().join("said.log")).unwrap();
    let mut said: Vec<&str> = log.lines().filter(|line| line.starts_with("cgroups:")).collect();
    said.dedup();
    let expected = [
        // Weight, processes and threads, which belong to one process here. -1 for a missing file.
        "cgroups: web 300 1 2 late -1 -1 -1",
        "cgroups: web 40 0 0 late 70 1 3",
        "cgroups: web 40 0 0 late -1 -1 -1",
    ];
    assert_eq!(said, expected, "{log}");
}

#[test]
fn proc_has_the_tasks_and_changes_of_cgroups_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let text = r#"{ "evenkeel": { "cgroups": { "/web": {}, "/late": { "later": true } } },
        "tasks": {
            "pair": { "instance": 2, "run": 100000, "sleep": 900, "evenkeel": { "cgroup": "/web" } },
            "boss": { "loop": 1, "delay": 1000000, "run": 10, "evenkeel": { "process": 1, "steps": [
                { "make_cgroup": "/late" }, { "cgroup_process": "/late" }, { "sleep": 1000000 },
                { "cgroup_process": "/" }, { "remove_cgroup": "/late" }, { "sleep": 500000 } ] } } } }"#;
    std::fs::write(folder.path().join("w.json"), text).unwrap();
    let options = ["--workload", "w.json", "--machine", "4", "--program-log", "said.log"];
    let output = keel(folder.path(), &options, &program, &[object.to_str().unwrap(), "tasks"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
    let log = std::fs::read_to_string(folder.path().join("said.log")).unwrap();
    let said = |kinds: [&str; 2]| {
        let mut said: Vec<&str> =
            log.lines().filter(|line| kinds.iter().any(|&kind| line.starts_with(kind))).collect();
        said.dedup();
        said
    };
    // Name, number of threads and cgroup. The first has no CPU time yet when it is first read.
    let all = |rest: &str| format!("tasks: init 1 0::/ shared 2 0::/ pair 2 0::/web{rest}, right");
    let expected = [
        all(""),
        "event: made late".into(),
        all(" boss 1 0::/late"),
        "event: removed late".into(),
        all(" boss 1 0::/"),
        all(""),
    ];
    assert_eq!(said(["event:", "tasks: init"]), expected, "{log}");
    let expected = [
        "tasks: made 0, removed 0, joined 0, as a process 0",
        "tasks: made 1, removed 0, joined 1, as a process 1",
        "tasks: made 1, removed 1, joined 1, as a process 1",
    ];
    assert_eq!(said(["tasks: made"; 2]), expected, "{log}");
}

#[test]
fn a_command_in_quotes_stands_for_a_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let compare = |schedulers: &str, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keel"));
        command.args([
            "compare",
            schedulers,
            "--workload",
            "mix:4:80",
            "--duration",
            "20ms",
            "--machine",
            "2",
        ]);
        let output = command.args(options).current_dir(folder.path()).output().expect("keel runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let command = format!("{} '{}'", program.display(), object.display());
    let (code, stdout, stderr) = compare(&format!("fifo,{command}"), &["--runs", "2"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("fifo (2 runs)") && stdout.contains("shared"), "{stdout}");
    let (code, _, stderr) = compare("fifo,./shared 'x.o", &[]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("it has an unclosed quote"), "{stderr}");
    let (code, _, stderr) = compare("fifo,./nobody here", &[]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("no program './nobody'"), "{stderr}");
}

/// An input of `keel fuzz` in which a CPU leaves.
const A_CPU_LEAVES: &str = r#"{
    "machine": { "nodes": 1, "llcs": 1, "cores": 2, "threads": 1 },
    "tasks": [{ "instances": 2, "steps": [{ "run": 500 }, { "sleep": 500 }] }],
    "timeline": [{ "at_us": 20000, "every_us": 0, "what": { "offline": [1, 1000] } }],
    "noise": false, "seed": 1, "duration_us": 300000
}"#;

#[test]
fn a_search_continues_if_a_program_leaves_with_its_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    std::fs::write(folder.path().join("leaves.fuzz.json"), A_CPU_LEAVES).unwrap();
    let scheduler = format!("{} '{}' leave", program.display(), object.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_keel"));
    command.args(["fuzz", &scheduler, "--property", "switches >= 0"]);
    command.args(["--corpus", "leaves.fuzz.json", "--runs", "0"]);
    let output = command.current_dir(folder.path()).output().expect("keel runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("1 input was refused; the first one: "), "{stdout}");
    assert!(stdout.contains("it ended before the run did, with exit code 0"), "{stdout}");
}

#[test]
fn a_recording_is_replayed_under_a_command_in_quotes() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let keel = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keel"));
        let output = command.args(args).current_dir(folder.path()).output().expect("keel runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let recorded = ["--workload", "mix:4:80", "--machine", "2", "--duration", "20ms", "--trace", "t.keel"];
    assert_eq!(keel(&[&["sim", "fifo"], &recorded[..]].concat()).0, Some(0));
    let command = format!("{} '{}'", program.display(), object.display());
    let (code, stdout, stderr) = keel(&["replay", "t.keel", &command]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.starts_with("confidence high"), "{stdout}");
    assert!(stdout.contains(&format!("{command}: replay of mix-4-on-2-at-80 on 2 (2 CPUs)")), "{stdout}");
    let (code, _, stderr) = keel(&["replay", "t.keel", "./nobody here"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("no program './nobody'"), "{stderr}");
}

#[test]
fn a_machine_says_what_a_call_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let on_cpu = |call_ns: u32| {
        let machine = format!(
            "name = \"two\"\n[topology]\nnodes = 1\nllcs_per_node = 1\ncores_per_llc = 2\n[costs]\nprogram_call_ns = {{ value = {call_ns}, source = \"a test\" }}\n"
        );
        std::fs::write(folder.path().join("two.toml"), machine).unwrap();
        let output = keel(
            folder.path(),
            &["--machine", "two.toml", "--workload", "mix:2:10", "--json"],
            &program,
            &[object.to_str().unwrap()],
        );
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let tasks = report["tasks"].as_array().expect("tasks");
        let own = tasks.iter().find(|task| task["name"] == "shared").expect("the program is a task");
        own["cpu_ns"].as_u64().expect("nanoseconds")
    };
    let (cheap, dear) = (on_cpu(1000), on_cpu(1_000_000));
    assert!(dear > 10 * cheap, "{dear} ns of CPU time at 1 ms a call, {cheap} ns at 1 us");
}

#[test]
fn a_program_that_yields_lets_others_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let options = ["--machine", "1", "--workload", "mix:2:10", "--json"];
    // It makes a hundred thousand system calls in this time.
    let arguments = [object.to_str().unwrap(), "yield"];
    let output = keel_for("200ms", folder.path(), &options, &program, &arguments);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let names = report["names"].as_array().expect("names");
    let others: Vec<_> =
        names.iter().filter(|of| of["name"].as_str().is_some_and(|n| n.starts_with("mix"))).collect();
    assert!(!others.is_empty());
    for of in others {
        // Its slice is 1 ms long.
        let half_ns = of["wakeup_delay_ns"]["p50"].as_u64().expect("nanoseconds");
        assert!(half_ns < 100_000, "{of}");
    }
}

#[test]
fn what_a_program_sets_up_becomes_a_recipe() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let keel = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_keel")).args(args).current_dir(folder.path()).output();
        let output = output.expect("keel runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (program, object) = (program.to_str().unwrap(), object.to_str().unwrap());
    let record =
        ["record-recipe", "--machine", "4", "--object", object, "-o", "r.keel.toml", "--", program, object];
    assert_eq!(keel(&record), (Some(0), String::new(), String::new()));
    let recipe = std::fs::read_to_string(folder.path().join("r.keel.toml")).unwrap();
    for part in [
        "[[part]]\nvariable = \"constant\"",
        "name = \"entries\"\nentries = [",
        "[[run]]\nprogram = \"look_up\"",
    ] {
        assert!(recipe.contains(part), "no '{part}' in\n{recipe}");
    }
    let sim = [
        "sim",
        object,
        "--host",
        "r.keel.toml",
        "--machine",
        "4",
        "--workload",
        "mix:8:60",
        "--duration",
        "50ms",
    ];
    let (code, stdout, stderr) = keel(&sim);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    // The program itself contains no object.
    let (code, _, stderr) = keel(&["record-recipe", "--", program, object]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("--object OBJ"), "{stderr}");
}
