//! Budgets and baselines: what passes, what fails, what is rejected, and what is printed.

use std::path::Path;
use std::process::{Command, Output};

const SCENE: [&str; 6] = ["--workload", "mix:5:90", "--machine", "2", "--duration", "300ms"];

fn keel(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keel")).args(args).env_remove("RUST_LOG").output().expect("keel runs")
}

fn sim(args: &[&str]) -> Output {
    keel(&[&["sim", "fifo"], &SCENE[..], args].concat())
}

/// A run that wastes a little, within the budget.
fn wasting(args: &[&str]) -> Output {
    keel(&[&["sim", "mq", "--duration", "300ms"], args].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.into()).expect("keel prints UTF-8")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)))
}

/// Checks the exit code, and that the output contains these words.
fn expect(output: &Output, code: i32, words: &str) {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.code() == Some(code) && said.contains(words), "{:?}: {said}", output.status.code());
}

/// The output of `keel`, as a file.
fn kept(folder: &Path, name: &str, output: &Output) -> String {
    let path = folder.join(name);
    std::fs::write(&path, &output.stdout).expect("it can be written");
    path.to_str().expect("a plain path").to_owned()
}

#[test]
fn budgets_say_what_fails() {
    let run = json(&wasting(&["--json"]));
    let sums = &run["findings_sums"]["wasted_core"];
    let found = sums["count"].as_u64().expect("a number");
    assert_eq!(sums["total_ns"], run["wasted_core_ns"]);
    assert!(found > 0, "this run wastes a little: {run}");
    expect(&wasting(&["--strict"]), 0, "Strict: passed; every finding is within its budget.\n");
    expect(
        &wasting(&["--allow", "wasted_core=none"]),
        1,
        &format!("Strict: failed; wasted_core: {found}, where none is allowed."),
    );
    let allow = |budget: String, code| {
        let output = wasting(&["--allow", &format!("wasted_core={budget}"), "--json"]);
        assert_eq!(output.status.code(), Some(code), "{budget}");
        let strict = &json(&output)["strict"];
        let row =
            strict["budgets"].as_array().unwrap().iter().find(|row| row["kind"] == "wasted_core").unwrap();
        assert_eq!(
            (&strict["passed"], &row["held"]),
            (&(code == 0).into(), &(code == 0).into()),
            "{budget}: {row}"
        );
    };
    let [total, longest] = ["total_ns", "longest_ns"].map(|field| sums[field].as_u64().unwrap());
    allow(found.to_string(), 0);
    allow((found - 1).to_string(), 1);
    allow(format!("{total}ns"), 0);
    allow(format!("{}ns", total - 1), 1);
    allow(format!("{longest}ns-each"), 0);
    allow(format!("{}ns-each", longest - 1), 1);
    allow("any".into(), 0);
    allow("0%".into(), 1);
}

#[test]
fn nonsense_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.keel");
    let check = |args: &[&str], words: &str| {
        expect(&sim(&[args, &["--trace", trace.to_str().unwrap()]].concat()), 2, words);
        assert!(!trace.exists(), "{args:?}");
    };
    check(&["--allow", "wasted=1%"], "unknown kind 'wasted'; the kinds are wasted_core, starvation");
    check(&["--allow", "wasted_core=-1%"], "'-1%' is not a budget for wasted_core");
    check(&["--allow", "wasted_core=101%"], "write 0% to 100%");
    check(&["--allow", "stall"], "is not KIND=BUDGET");
    check(&["--regression", "5%"], "--baseline");
    check(&["--budgets", "nowhere"], "nowhere cannot be read: no such file");
    check(&["--baseline", "nowhere"], "nowhere cannot be read: no such file");
    let file = folder.path().join("b.toml");
    std::fs::write(&file, "[allow]\nstall = 1\nspeed = 3\n").unwrap();
    let file = file.to_str().unwrap();
    check(&["--budgets", file], "b.toml:3: unknown kind 'speed'");
    check(&["--budgets", file, "--log", file], "");
    check(&["--baseline", file], "b.toml: this is not --json output of keel sim or keel compare");
    let baseline = kept(folder.path(), "run.json", &sim(&["--json"]));
    check(&["--baseline", &baseline, "--regression", "speed=1%"], "--regression: unknown figure 'speed'");
    check(&["--baseline", &baseline, "--trace", &baseline], "");
    let with = |args: &[&str], words: &str| check(&[&["--baseline", &baseline], args].concat(), words);
    with(&["--seed", "2"], "it is one run with seed 1, and this is one with seed 2");
}

#[test]
fn a_baseline_of_something_else_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let baseline = kept(folder.path(), "run.json", &sim(&["--json"]));
    let check = |workload: &str, machine: &str, duration: &str, words: &str| {
        let scene = ["--workload", workload, "--machine", machine, "--duration", duration];
        let output = keel(&[&["sim", "fifo", "--baseline", &baseline], &scene[..]].concat());
        expect(&output, 2, &format!("--baseline {baseline}: its {words}"));
    };
    check("mix:6:90", "2", "300ms", "workload is 'mix-5-on-2-at-90', but this run's is 'mix-6-on-2-at-90'");
    check("mix:5:90", "3", "300ms", "workload is 'mix-5-on-2-at-90', but this run's is 'mix-5-on-3-at-90'");
    check("mix:5:90", "2", "301ms", "duration is '300.00 ms', but this run's is '301.00 ms'");
    let recording = folder.path().join("run.keel");
    sim(&["--trace", recording.to_str().unwrap()]);
    let checked = kept(folder.path(), "check.json", &keel(&["check", recording.to_str().unwrap(), "--json"]));
    expect(
        &sim(&["--baseline", &checked]),
        2,
        "this is not --json output of keel sim or keel compare: missing field",
    );
}

#[test]
fn the_same_run_never_regresses_and_a_worse_one_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let baseline = kept(folder.path(), "run.json", &sim(&["--json"]));
    let again = sim(&["--baseline", &baseline, "--regression", "0%"]);
    expect(&again, 0, "These are single runs with one seed");
    expect(&again, 0, "Baseline: fifo passed; no figure regressed (1 run against the baseline's 1).\n");
    let worse = ["--baseline", &baseline, "--set", "slice_ns=50000"];
    expect(&sim(&worse), 1, "Baseline: fifo failed (1 run against the baseline's 1); ");
    expect(&sim(&[&worse[..], &["--regression", "any"]].concat()), 0, "no figure regressed");
    let found = json(&sim(&[&worse[..], &["--json"]].concat()));
    assert_eq!((&found["baseline"]["passed"], &found["strict"]), (&false.into(), &serde_json::Value::Null));
}

#[test]
fn several_seeds_are_compared_by_scheduler() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = |schedulers: &str, args: &[&str]| {
        keel(&[&["compare", schedulers, "--runs", "2"], &SCENE[..], args].concat())
    };
    let baseline = kept(folder.path(), "runs.json", &compare("fifo,bsd", &["--json"]));
    let held = compare("fifo,bsd", &["--strict", "--baseline", &baseline]);
    expect(
        &held,
        0,
        "fifo, 2 runs: Strict: passed; every finding is within its budget.\nbsd, 2 runs: Strict: passed",
    );
    expect(&held, 0, "Baseline: bsd passed; no figure regressed (2 runs against the baseline's 2).\n");
    // Other seeds of the same scheduler are noise.
    expect(&compare("fifo", &["--seed", "7", "--baseline", &baseline]), 0, "Baseline: fifo passed");
    expect(&compare("ule", &["--baseline", &baseline]), 2, "it has no run of ule, only of bsd, fifo");
    let bouncing = "fifo, 2 of 2 runs, the first with seed 1: Strict: failed; bouncing: ";
    expect(&compare("fifo", &["--allow", "bouncing=none"]), 1, bouncing);
    let found = json(&compare("bsd,fifo", &["--baseline", &baseline, "--json"]));
    let baseline = found["baseline"].as_array().expect("one for each scheduler");
    assert_eq!(baseline.len(), 2, "{baseline:?}");
}
