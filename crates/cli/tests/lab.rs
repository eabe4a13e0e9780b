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
fn the_number_of_threads_changes_nothing() {
    let bytes = |jobs| lab(&["tests/data/two-cpus.toml", "--runs", "4", "--json", "--jobs", jobs]).stdout;
    assert_eq!(text(&bytes("1")), text(&bytes("3")));
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
