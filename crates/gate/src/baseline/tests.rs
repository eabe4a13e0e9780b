use super::*;
use serde_json::json;

/// Returns a run as in `--json`, with fields that this crate does not read.
pub(crate) fn json_run(scheduler: &str, seed: u64) -> Value {
    json!({
        "scheduler": scheduler, "workload": "mix", "machine": "8", "cpus": 8, "seed": seed,
        "duration_ns": 10_000_000_000_u64, "wall_ns": 1, "switches": 90_000, "migrations": 40_000, "preemptions": 100,
        "throughput": 5000.0, "throughput_total": 50_000, "throughput_unit": "runs",
        "wakeup_delay_ns": { "p50": 2000, "p99": 100_000, "max": 500_000 },
        "names": [{ "name": "worker", "tasks": 8, "woken": 45_000, "wakeup_delay_ns": { "p50": 2000, "p99": 90_000, "max": 1 } }],
        "wasted_share": 0.004, "overhead": { "callback_ns": 150_000_000, "lock_wait_ns": 2_000_000, "instructions": 30_000_000 },
        "bad_accesses": 0, "findings_total": { "wasted_core": 200, "stall": 0 }, "exit": { "kind": "none", "reason": "" }
    })
}

pub(crate) fn run(scheduler: &str, seed: u64) -> PastRun {
    serde_json::from_value(json_run(scheduler, seed)).expect("it is one")
}

fn scene(schedulers: &[&str], seeds: &[u64]) -> Scene {
    Scene {
        schedulers: schedulers.iter().map(|&name| name.to_owned()).collect(),
        workload: "mix".into(),
        unit: "runs".into(),
        machine: "8".into(),
        cpus: 8,
        noise: Noise::None,
        duration: Span::from_s(10),
        seeds: seeds.to_vec(),
    }
}

fn read(value: &Value) -> Result<Baseline, BaselineError> {
    Baseline::read(&value.to_string())
}

#[test]
fn one_run_and_many_are_read() {
    assert_eq!(read(&json_run("a", 1)).unwrap().runs, [run("a", 1)]);
    let many = json!({ "runs": [json_run("a", 1), json_run("a", 2), json_run("b", 1)], "more": 1 });
    let baseline = read(&many).unwrap();
    assert_eq!(baseline.runs.len(), 3);
    assert_eq!(baseline.runs_of("a", 1).unwrap().len(), 2);
    assert_eq!(baseline.fits(&scene(&["a", "b"], &[1, 2])), Ok(()));
    assert_eq!(read(&json_run("old", 1)).unwrap().fits(&scene(&["new"], &[1])), Ok(()), "it may be renamed");
}

#[test]
fn what_is_no_baseline_is_refused_with_the_reason() {
    let check = |text: &str, expected: &str| {
        let reported = Baseline::read(text).unwrap_err().to_string();
        assert!(reported.contains(expected), "{text}: {reported}");
    };
    check("", "this is not --json output of keel sim or keel compare: EOF");
    check("[]", "this is not --json output of keel sim or keel compare");
    check("{\"runs\": 3}", "this is not --json output of keel sim or keel compare");
    check("{\"runs\": []}", "it contains no run");
    for field in ["wasted_share", "overhead", "names", "machine", "exit", "bad_accesses", "seed"] {
        let mut run = json_run("a", 1);
        run.as_object_mut().unwrap().remove(field);
        check(&run.to_string(), &format!("missing field `{field}`"));
    }
    let mut failed = json_run("a\u{1b}", 7);
    failed["exit"]["kind"] = "error_stall".into();
    check(&failed.to_string(), "its run of a\\u{1b} with seed 7 failed (error_stall)");
    let mut negative = json_run("a", 1);
    negative["switches"] = (-1).into();
    check(&negative.to_string(), "invalid value");
}

#[test]
fn a_baseline_of_something_else_is_refused() {
    let check = |change: fn(&mut Scene), expected: &str| {
        let mut scene = scene(&["a"], &[1]);
        change(&mut scene);
        let reported = read(&json_run("a", 1)).unwrap().fits(&scene).unwrap_err().to_string();
        assert!(reported.contains(expected), "{reported}");
    };
    check(|scene| scene.workload = "hogs".into(), "its workload is 'mix', but this run's is 'hogs'");
    check(|scene| scene.machine = "64".into(), "its machine is '8', but this run's is '64'");
    check(|scene| scene.noise = Noise::Quiet, "its noise is 'none', but this run's is 'quiet'");
    check(|scene| scene.cpus = 9, "its number of CPUs is '8'");
    check(|scene| scene.duration = Span::from_s(9), "its duration is '10.00 s', but this run's is '9.00 s'");
    check(|scene| scene.unit = "loops".into(), "its unit of work is 'runs'");
    check(|scene| scene.seeds = vec![2], "it is one run with seed 1, and this is one with seed 2");
    check(|scene| scene.schedulers = vec!["a".into(), "b".into()], "it has no run of b, only of a");
}
