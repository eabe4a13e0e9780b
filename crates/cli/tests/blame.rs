//! The scene of `crates/readers/recordings/blame` in its four formats. The first line, the finding, `--delay`,
//! `--task`, JSON and the page name the CPU on which `victim` waited and who had woken it there. None of them names the
//! CPU that ended the wait.

use serde_json::Value;
use std::process::Command;

const FIRST: &str =
    "Core 3 idled for 50.40 ms while 1 victim task waited on core 0. It was woken on its last CPU by waker.";
const WASTE: &str = "CPU 3 idled for 50.40 ms while task victim (pid 200) waited in the queue of CPU 0, \
                     where waker (pid 204) woke it";
const LATE: &str = "task victim (pid 200) was woken by waker (pid 204) for CPU 0 and ran 50.40 ms later, \
                    on CPU 3; CPU 0 was running hog0 (pid 100) then";
const DECISION: &str = "woken by CPU 1 and put on CPU 0 at 10.00 ms, where it last ran";

fn keel(args: &[&str]) -> String {
    let mut keel = Command::new(env!("CARGO_BIN_EXE_keel"));
    let output = keel.args(args).env_remove("RUST_LOG").output().expect("keel runs");
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn finding<'a>(report: &'a Value, kind: &str) -> &'a Value {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().find(|found| found["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// Finding and decision of the waste.
fn names_the_wakeup(report: &Value) {
    let waste = finding(report, "wasted_core");
    assert_eq!(waste["text"], WASTE);
    let decision = &waste["decision"];
    assert_eq!(decision["at_ns"], waste["start_ns"]);
    assert_eq!((&decision["act"], &decision["text"]), (&"woken".into(), &DECISION.into()));
    let numbers = ["by_cpu", "from_cpu", "to_cpu", "waker", "task"].map(|field| decision[field].as_u64());
    assert_eq!(numbers, [1, 0, 0, 204, 200].map(Some));
}

fn check(name: &str) {
    let recording = format!("../readers/recordings/blame/{name}");
    let text = keel(&["check", &recording, "--delay", "1ms"]);
    let lines: Vec<&str> = text.lines().collect();
    // The recording's limits come first.
    assert!(lines[0].ends_with(&FIRST[1..]), "{text}");
    for line in [&format!(": {WASTE}"), &format!(": {LATE}"), &format!("  it was {DECISION}")] {
        assert!(lines.iter().any(|reported| reported.ends_with(line)), "{line}: {text}");
    }
    assert!(!text.contains("pulled") && !text.contains("on core 3"), "{text}");

    let json: Value =
        serde_json::from_str(&keel(&["check", &recording, "--delay", "1ms", "--json"])).expect("JSON");
    names_the_wakeup(&json);
    let late = finding(&json, "long_delay");
    assert_eq!((&late["text"], &late["decision"]["text"]), (&LATE.into(), &DECISION.into()));
    assert_eq!(late["cpus"], serde_json::json!([0, 3]));
    let places = &json["wasted_where"];
    assert!(places["sentence"].as_str().is_some_and(|reported| reported.ends_with(&FIRST[1..])), "{places}");
    assert_eq!(places["wakers"][0]["name"], "waker");
    let wasted = json["wasted_core_ns"].as_u64();
    assert_eq!(
        (places["waited_on"]["0"].as_u64(), places["how"]["woken_last_cpu"].as_u64()),
        (wasted, wasted)
    );

    let why = keel(&["check", &recording, "--task", "victim"]);
    assert!(why.contains(&format!("{DECISION}, by task waker (pid 204)")), "{why}");

    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    keel(&["report", &recording, "-o", page.to_str().expect("a plain path")]);
    let page = std::fs::read_to_string(page).expect("a page");
    let head = page.split("id=\"run0\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let head: Value = serde_json::from_str(head.expect("a head")).expect("JSON");
    assert!(
        head["title"].as_str().is_some_and(|reported| reported.ends_with(&FIRST[1..])),
        "{}",
        head["title"]
    );
    names_the_wakeup(&head["report"]);
}

#[test]
fn of_perf_script() {
    check("perf.txt");
}

#[test]
fn of_perf_script_with_nanoseconds() {
    check("perf-ns.txt");
}

#[test]
fn of_an_old_perf() {
    check("perf-old.txt");
}

#[test]
fn of_ftrace() {
    check("ftrace.txt");
}
