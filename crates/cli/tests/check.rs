//! `keel check` on a trace reports the same as its run.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn keel(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keel")).args(args).env_remove("RUST_LOG").output().expect("keel runs")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// A run of five busy tasks on two CPUs, written to `trace`, and the output of keel sim.
fn simulated(trace: &Path) -> serde_json::Value {
    let trace = trace.to_str().expect("a plain path");
    let args = [
        "sim",
        "fifo",
        "--workload",
        "mix:5:90",
        "--machine",
        "2",
        "--duration",
        "200ms",
        "--json",
        "--trace",
    ];
    let output = keel(&[&args[..], &[trace]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    json(&output)
}

#[test]
fn a_trace_is_judged_as_its_run_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.keel");
    let run = simulated(&trace);
    let report = json(&keel(&["check", trace.to_str().unwrap(), "--json"]));
    for field in [
        "scheduler",
        "workload",
        "cpus",
        "duration_ns",
        "switches",
        "wakeups",
        "migrations",
        "preemptions",
        "wasted_core_ns",
        "busy_share",
        "wakeup_delay_ns",
        "tasks",
        "findings",
        "findings_total",
    ] {
        assert_eq!(report[field], run[field], "{field}");
    }
    assert_eq!(report["lost_events"], 0);
    assert!(report["events"].as_u64() > run["switches"].as_u64(), "{}", report["events"]);
    let of_names: u64 =
        report["names"].as_array().unwrap().iter().filter_map(|name| name["cpu_ns"].as_u64()).sum();
    let of_tasks: u64 =
        run["tasks"].as_array().unwrap().iter().filter_map(|task| task["cpu_ns"].as_u64()).sum();
    assert_eq!(of_names, of_tasks);
    assert_eq!(report["findings_sums"], run["findings_sums"]);
    let strict = keel(&["check", trace.to_str().unwrap(), "--strict"]);
    assert_eq!(strict.status.code(), Some(0));
    let found = run["findings_total"]["wasted_core"].as_u64() > Some(0);
    let none = keel(&["check", trace.to_str().unwrap(), "--allow", "wasted_core=none"]);
    assert_eq!(none.status.code(), Some(i32::from(found)));
    let text = String::from_utf8(strict.stdout).unwrap();
    assert!(text.trim_end().ends_with('.') && text.contains("2 CPUs"), "{text}");
}

#[test]
fn the_parts_of_a_trace_are_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.keel");
    let run = simulated(&trace);
    let trace = trace.to_str().unwrap();
    let part = |range: &[&str]| json(&keel(&[&["check", trace, "--json"], range].concat()));
    let sum = |report: &serde_json::Value, field: &str| {
        let tasks = report["tasks"].as_array().unwrap();
        tasks.iter().filter_map(|task| task[field].as_u64()).sum::<u64>()
    };
    for border in ["1ns", "77ms", "123456us", "199999999ns"] {
        let (before, after) = (part(&["--until", border]), part(&["--from", border]));
        for field in ["cpu_ns", "wait_ns", "switches", "preemptions"] {
            assert_eq!(sum(&before, field) + sum(&after, field), sum(&run, field), "{border}: {field}");
        }
        let lasted = |report: &serde_json::Value| report["duration_ns"].as_u64().unwrap();
        assert_eq!(lasted(&before) + lasted(&after), lasted(&run), "{border}");
    }
    let check = |range: &[&str], expected: &str| {
        let output = keel(&[&["check", trace], range].concat());
        let reported = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && reported.contains(expected), "{range:?}: {reported}");
    };
    check(&["--from", "2s"], "it ends before 2.00 s, where --from starts");
    check(&["--from", "2s", "--until", "1s"], "--until 1.00 s is not later than --from 2.00 s");
    check(&["--until", "0s"], "--until");
}

#[test]
fn what_is_left_of_an_incomplete_trace_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.keel");
    simulated(&trace);
    let bytes = std::fs::read(&trace).unwrap();
    let whole = json(&keel(&["check", trace.to_str().unwrap(), "--json"]));
    let check = |bytes: &[u8], expected: &str, least_ns: u64| {
        std::fs::write(&trace, bytes).unwrap();
        let report = json(&keel(&["check", trace.to_str().unwrap(), "--json"]));
        let (note, ns) = (report["notes"][0].as_str().unwrap_or(""), report["duration_ns"].as_u64());
        assert!(note.contains(expected) && report["notes"].as_array().unwrap().len() == 1, "{note}");
        assert!((Some(least_ns)..=whole["duration_ns"].as_u64()).contains(&ns), "{expected}: {ns:?}");
    };
    check(&bytes[..bytes.len() / 2], "cut off", 50_000_000);
    check(&bytes[..bytes.len() - 1], "cut off", 199_000_000);
    let mut damaged = bytes.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    check(&damaged, "damaged", 199_000_000);
    let nothing = |bytes: &[u8], expected: &str| {
        std::fs::write(&trace, bytes).unwrap();
        let output = keel(&["check", trace.to_str().unwrap()]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{expected}");
        let reported = String::from_utf8(output.stderr).unwrap();
        assert!(reported.contains("run.keel: ") && reported.contains(expected), "{reported}");
    };
    nothing(b"", "the file is empty");
    nothing(b"hello", "unknown format: keel reads");
    nothing(b"PERFILE2", "the perf.data file is damaged at byte 8");
    nothing(&bytes[..12], "cut off");
    std::fs::remove_file(&trace).unwrap();
    let output = keel(&["check", trace.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn recordings_by_other_tools_are_judged_by_their_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |name: &str, format: &str, switches: u64, note: &str| {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../readers/recordings").join(name);
        let renamed = folder.path().join("renamed");
        std::fs::copy(from, &renamed).expect("it can be copied");
        let output = keel(&["check", renamed.to_str().unwrap(), "--json"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let report = json(&output);
        assert_eq!((report["format"].as_str(), report["cpus"].as_u64()), (Some(format), Some(2)), "{name}");
        assert!(report["switches"].as_u64() > Some(switches), "{name}: {}", report["switches"]);
        let notes = report["notes"].to_string();
        assert!(notes.contains(note) && report["affinity_known"] == false, "{name}: {notes}");
        let text = String::from_utf8(keel(&["check", renamed.to_str().unwrap()]).stdout).unwrap();
        assert!(
            text.contains("About the recording") && report["throttling_known"] == false,
            "{name}: {text}"
        );
    };
    check("perf.data", "perf.data", 100, "");
    check("pipe.data", "perf.data", 20, "the file is cut off");
    check("trace.dat", "trace.dat", 50, "");
    check("report.txt", "text", 10, "");
    check("script.txt", "text", 10, "");
    check("ftrace.txt", "text", 10, "");
}

/// Two hogs wait on CPU 0 while CPU 1 idles. Such a text does not show whether they are pinned there.
#[test]
fn what_rests_on_the_unknown_counts_only_when_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.txt");
    let mut text = "a-7 [000] d..2. 0.000001: sched_wakeup: b:8 [120] CPU:000\n".to_owned();
    text += "a-7 [000] d..2. 0.000002: sched_wakeup: c:9 [120] CPU:001\n";
    text += "<idle>-0 [001] d..2. 0.000003: sched_switch: swapper/1:0 [120] R ==> c:9 [120]\n";
    text += "c-9 [001] d..2. 0.000004: sched_switch: c:9 [120] S ==> swapper/1:0 [120]\n";
    for n in 0..200 {
        let (prev, next, pid) = if n % 2 == 0 { ("a:7", "b:8", 7) } else { ("b:8", "a:7", 8) };
        text += &format!(
            "x-{pid} [000] d..2. 0.{:06}: sched_switch: {prev} [120] R ==> {next} [120]\n",
            4000 * (n + 1)
        );
    }
    std::fs::write(&path, text).expect("it can be written");
    let path = path.to_str().expect("a plain path");
    let check = |options: &[&str], code: i32| {
        let output = keel(&[&["check", path], options].concat());
        assert_eq!(
            output.status.code(),
            Some(code),
            "{options:?}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8(output.stdout).expect("text")
    };
    let text = check(&["--strict"], 0);
    assert!(text.starts_with("This recording does not show which CPUs tasks may use"), "{text}");
    assert!(text.contains("no such tasks: core 1 idled for 800.00 ms"), "{text}");
    check(&["--strict", "--assume-unrestricted"], 1);
    let report: serde_json::Value = serde_json::from_str(&check(&["--json"], 0)).expect("one JSON object");
    assert_eq!((&report["affinity_known"], &report["throttling_known"]), (&false.into(), &false.into()));
    assert_eq!(report["findings_unsure"], report["findings_total"]["wasted_core"]);
}

#[test]
fn a_path_that_is_not_a_file_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |path: &str, expected: &str| {
        let mut keel = Command::new(env!("CARGO_BIN_EXE_keel"));
        let output = keel.args(["check", path]).stdin(Stdio::piped()).output().expect("keel runs");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{path}");
        let reported = String::from_utf8(output.stderr).unwrap();
        assert!(reported.starts_with(&format!("keel: {path}: {expected}")), "{reported}");
    };
    check(folder.path().to_str().unwrap(), "it is a folder, not a recording\n");
    let place = |name: &str| folder.path().join(name);
    let path = folder.path().to_str().unwrap();
    // Incomplete folders of perf record --threads.
    std::fs::write(place("data.1"), "").unwrap();
    check(path, "it lacks the file 'data', in which perf record --threads describes the events\n");
    std::fs::write(place("data"), "PERFILE2").unwrap();
    check(path, "it lacks the file 'data.0', which perf record --threads wrote beside 'data.1'\n");
    std::fs::create_dir(place("data.0")).unwrap();
    check(path, "'data.0' in it is not a file, so it is not a recording\n");
    std::fs::remove_dir(place("data.0")).unwrap();
    std::fs::write(place("data.0"), "").unwrap();
    check(path, "the perf.data file is damaged at byte 8: its head is cut off\n");
    std::fs::write(place("data"), "something else").unwrap();
    check(path, "it is a folder, not a recording\n");
    check("/dev/stdin", "the file is empty\n");
    check("/dev/null", "it is a device\n");
}

#[test]
fn recording_needs_a_place_and_a_time() {
    let check = |args: &[&str], expected: &str| {
        let output = keel(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let reported = String::from_utf8(output.stderr).unwrap();
        assert!(reported.contains(expected), "{args:?}: {reported}");
    };
    check(&["record"], "--output <OUT>");
    check(&["record", "-o", "/no/such/folder/x"], "cannot be written");
    check(&["record", "-o", "x", "--duration", "10"], "it needs a unit");
    check(&["record", "-o", "x", "--buffer", "1"], "write 4 to 1048576");
}

#[test]
fn times_count_from_the_recorders_clock_which_names_moments_too() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../readers/recordings/perf.data");
    let report = |range: &[&str]| json(&keel(&[&["check", trace, "--json"], range].concat()));
    let whole = report(&[]);
    let clock_ns = whole["clock_start_ns"].as_u64().expect("a recording has a clock");
    let length_ns = whole["duration_ns"].as_u64().unwrap();
    assert!(clock_ns > length_ns, "it began long after the clock did");
    let seconds = |ns: u64| format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000);
    let text = String::from_utf8(keel(&["check", trace]).stdout).unwrap();
    let line = format!("\nTimes count from {} of the recorder's clock.\n", seconds(clock_ns));
    assert!(text.contains(&line), "{text}");
    // The middle, by both clocks: whole microseconds of the recorder's.
    let middle = (clock_ns + length_ns / 2) / 1000 * 1000;
    let after = report(&["--from", &format!("{}ns", middle - clock_ns)]);
    let lasted = after["duration_ns"].as_u64().unwrap();
    assert!(lasted > 0 && lasted < length_ns, "{lasted} of {length_ns}");
    for form in [format!("{}s", seconds(middle)), seconds(middle)] {
        assert_eq!(report(&["--from", &form]), after, "{form}");
    }
    assert_eq!(report(&["--until", &seconds(middle)])["duration_ns"], length_ns - lasted);
    assert_eq!(report(&["--from", &format!("{}s", clock_ns / 1_000_000_000)])["duration_ns"], length_ns);
    let folder = tempfile::tempdir().expect("a folder");
    let simulated_trace = folder.path().join("run.keel");
    simulated(&simulated_trace);
    let run = simulated_trace.to_str().unwrap();
    assert!(json(&keel(&["check", run, "--json"]))["clock_start_ns"].is_null());
    let refused = String::from_utf8(keel(&["check", run, "--from", "0.1"]).stderr).unwrap();
    assert!(refused.contains("--from: this recording has no recorder's clock"), "{refused}");
}

#[test]
fn a_recording_without_events_does_not_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.keel");
    simulated(&trace);
    let whole = std::fs::read(&trace).expect("it was written");
    let check = |bytes: usize, more: &[&str], expected: &str| {
        let cut = folder.path().join("cut.keel");
        std::fs::write(&cut, &whole[..bytes]).expect("it can be written");
        let output = keel(&[&["check", cut.to_str().unwrap()], more].concat());
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{bytes} {more:?}: {reported}");
        assert!(reported.contains(expected), "{bytes} {more:?}: {reported}");
        assert!(output.stdout.is_empty(), "{bytes} {more:?}");
    };
    check(0, &["--strict"], "cut.keel: ");
    check(64, &["--strict"], "cut.keel: it has no events; ");
    check(64, &[], "cut.keel: it has no events; ");
}
