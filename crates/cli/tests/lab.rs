//! `keel lab` from file to verdict: small experiments over `fifo`.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn lab(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keel"));
    command.arg("lab").args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.stdin(Stdio::null()).env_remove("RUST_LOG").output().expect("keel runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.into()).expect("keel prints UTF-8")
}

fn json(args: &[&str]) -> Value {
    let output = lab(args);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{args:?}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

#[test]
fn an_experiment_is_run_and_judged() {
    let all = json(&["tests/data/two-cpus.toml", "--runs", "3", "--json"]);
    let experiment = &all["experiments"][0];
    assert_eq!(experiment["verdict"], "reproduced", "{all:#}");
    assert_eq!(experiment["reproduced"], true);
    let ours = experiment["ours"].as_f64().expect("it was measured");
    assert!((1.9..2.1).contains(&ours), "{ours}");
    assert_eq!(experiment["claims"][1]["verdict"], "calibrated", "{all:#}");
    assert_eq!(experiment["arms"][0]["runs"], 3);
    let output = lab(&["tests/data/two-cpus.toml", "--runs", "1"]);
    let table = text(&output.stdout);
    assert!(table.ends_with("\nThe experiment is reproduced.\n"), "{table}");
    assert_eq!(text(&output.stderr), "", "no progress into a pipe");
}

#[test]
fn a_workload_that_ends_is_timed() {
    let all = json(&["tests/data/ends.toml", "--runs", "2", "--json"]);
    assert_eq!(all["experiments"][0]["claims"][0]["verdict"], "calibrated", "{all:#}");
    assert_eq!(all["experiments"][0]["claims"][1]["verdict"], "reproduced", "{all:#}");
}

#[test]
fn figures_are_the_same_on_every_host() {
    let bytes = |more: &[&str]| {
        let args = ["tests/data/identical.toml", "--runs", "2", "--json"];
        text(&lab(&args.iter().chain(more).copied().collect::<Vec<_>>()).stdout)
    };
    let native = bytes(&["--jobs", "1"]);
    assert_eq!(native, bytes(&["--jobs", "3"]));
    assert_eq!(native, bytes(&["--engine", "interpreter"]));
    // Any host, profile and CPU prints these bytes.
    insta::assert_snapshot!(native);
}

#[test]
fn shared_options_are_reported_for_each_experiment() {
    let folder = tempfile::tempdir().expect("a folder");
    let again = folder.path().join("again.toml");
    let file = std::fs::read_to_string("tests/data/two-cpus.toml").expect("it is there");
    let renamed = file.replacen("id = \"two-cpus\"", "id = \"again\"", 1);
    assert_ne!(file, renamed);
    std::fs::write(&again, renamed).expect("it is written");
    let again = again.to_str().expect("UTF-8");
    let both = json(&["tests/data/two-cpus.toml", again, "--runs", "2", "--json"]);
    let alone = json(&[again, "--runs", "2", "--json"]);
    assert_eq!(both["experiments"][1], alone["experiments"][0]);
    assert_eq!(both["experiments"][0]["claims"], alone["experiments"][0]["claims"]);
}

/// An experiment with two versions of a program.
const VERSIONS: &str = "id = 'versions'\ntitle = 't'\nsource = 's'\nmodelled = 'm'\nmachine = '2'\n\
    workload = 'hogs:2'\nduration_ms = 20\n\
    [[arm]]\nlabel = 'old'\nscheduler = 'scx_mine --all'\nversion = '1.0.0'\n\
    [[arm]]\nlabel = 'new'\nscheduler = 'scx_mine --all'\nversion = '1.0.1'\n\
    [[claim]]\nsays = 'x'\nmeasure = 'switches_per_s'\nof = 'new'\nto = 'old'\npublished = { ratio = 2 }\nband = 'effect'\n";

#[test]
fn a_program_that_is_not_installed_is_named_with_the_command_that_installs_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, programs) = (folder.path().join("versions.toml"), folder.path().join("programs"));
    std::fs::write(&file, VERSIONS).expect("the folder can be written");
    let [file, programs] = [&file, &programs].map(|path| path.to_str().expect("it is UTF-8"));
    let output = lab(&[file, "--programs", programs]);
    let expected = format!(
        "keel: scx_mine 1.0.0 is not in {programs}\nhelp: install it: cargo install --locked --root \
         {programs}/scx_mine-1.0.0 scx_mine@1.0.0\n"
    );
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected));
}

#[test]
fn constants_are_varied() {
    let all = json(&["tests/data/two-cpus.toml", "--sensitivity", "--json"]);
    let experiment = &all["sensitivity"][0];
    assert!(experiment["base"].as_f64().is_some_and(|base| (1.9..2.1).contains(&base)), "{all:#}");
    let constants = experiment["constants"].as_array().expect("a list");
    let of = |name: &str| constants.iter().find(|constant| constant["name"] == name).expect("it is there");
    assert!(of("insn_ps")["doubled"].is_f64(), "{all:#}");
    assert!(of("lock_per_waiter_ns")["halved"].is_null(), "0 cannot be halved: {all:#}");
}

#[test]
fn options_unusable_with_decisions_are_refused_before_any_run() {
    let check = |args: &[&str], expected: &str| {
        let output = lab(args);
        let reported = text(&output.stderr);
        assert_eq!(
            (output.status.code(), text(&output.stdout)),
            (Some(2), String::new()),
            "{args:?}: {reported}"
        );
        assert!(reported.contains(expected), "{args:?}: {reported}");
    };
    check(&["--decisions", "fifo,nobody"], "no built-in scheduler and no file is named 'nobody'");
    check(&["--decisions", ""], "no built-in scheduler and no file is named ''");
    check(&["--decisions", "fifo", "--machine", "0"], "a machine has 1 to 4096 CPUs");
    check(&["--decisions", "fifo", "--report", "no/such/place.svg"], "no/such/place.svg cannot be written");
    check(
        &["--decisions", "fifo", "--report", "chart.png"],
        "with --decisions, --report writes an SVG picture",
    );
    check(
        &["--decisions", "../../docs/demo.svg", "--report", "../../docs/demo.svg"],
        "is an input file and would be overwritten",
    );
    check(&["--report", "out.svg"], "--decisions");
    check(&["--decisions", "fifo", "tests/data/ends.toml"], "cannot be used with");
    assert!(!std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("out.svg").exists());
}
