use super::*;
use crate::Style;
use keel_abi::Span;
use keel_check::Measured;
use keel_experiment::{RunFigures, Taken, judge, read};

const YIELD: &str = r#"
id = "yield"
title = "sched_yield() by 4 tasks"
source = "an announcement, 2002"
modelled = "the calls"
machine = "2"
workload = "yields:4"
duration_ms = 500
[[arm]]
label = "old"
scheduler = "goodness"
[[arm]]
label = "new"
scheduler = "o1"
[[arm]]
label = "new-off"
scheduler = "o1"
settings = { global_queue = 1 }
[[claim]]
says = "switches a second"
measure = "switches_per_s"
of = "new"
to = "old"
published = { of = [400, 410], to = [100] }
band = "effect"
off = { arm = "new-off", instead_of = "new", gone = "with one queue for all CPUs" }
[[claim]]
says = "busy share"
measure = "busy_share"
of = "new"
to = "old"
published = { of = [0.3, 0.5], to = [0.2, 0.35] }
band = { within = 0.25 }
"#;

const LATENCY: &str = r#"
id = "latency"
title = "a switch"
source = "lmbench"
modelled = "pipes"
machine = "2"
workload = "ring:2:0"
duration_ms = 500
[[arm]]
label = "old"
scheduler = "goodness"
[[claim]]
says = "2p/0K"
measure = "us_per_switch"
of = "old"
published = { of = [1.62, 1.70] }
band = { within = 0.25 }
"#;

fn taken() -> Taken {
    let costs = Costs { callback: Span::from_ms(500), lock_wait: Span::from_ms(100), instructions: 7 };
    Taken { costs, end: Span::from_s(1), machine_time: Span::from_s(2) }
}

fn runs(switches: &[u64]) -> ArmFigures {
    let measured = |switches| Measured {
        duration: Span::from_s(1),
        switches,
        machine_time: Span::from_s(2),
        busy: Span::from_s(1),
        ..Measured::default()
    };
    let run = |(seed, &n): (usize, &u64)| RunFigures {
        seed: seed as u64 + 1,
        costs: taken(),
        result: Ok(measured(n)),
    };
    ArmFigures { runs: switches.iter().enumerate().map(run).collect() }
}

fn report(file: &str, arms: &[ArmFigures]) -> ExperimentReport {
    let experiment = read("x.toml", file).unwrap();
    ExperimentReport::new(&experiment, arms, &judge(&experiment, arms))
}

fn some() -> Vec<ExperimentReport> {
    let failed = RunFigures {
        seed: 1,
        costs: taken(),
        result: Err("the scheduler failed: worker\x1b[31m stalled".into()),
    };
    vec![
        report(YIELD, &[runs(&[100, 105]), runs(&[400, 390]), runs(&[104])]),
        report(YIELD, &[runs(&[100, 105]), ArmFigures { runs: vec![failed] }, runs(&[104])]),
        report(LATENCY, &[runs(&[600_000])]),
    ]
}

#[test]
fn a_table_has_a_line_for_each_claim() {
    insta::assert_snapshot!(table(&some(), Style::PLAIN));
    insta::assert_snapshot!(table(&some(), Style { width: 200, colour: true }));
}

#[test]
fn without_experiments_there_is_no_table() {
    assert_eq!(table(&[], Style::PLAIN), "No experiment was run to its end.\n");
}

#[test]
fn json_has_every_documented_field() {
    let json = serde_json::to_string_pretty(&some()[0]).unwrap();
    insta::assert_snapshot!(json);
    let documented = include_str!("../../../../docs/reference/json.md");
    for key in json.split('"').skip(1).step_by(2).filter(|key| json.contains(&format!("\"{key}\":"))) {
        let own = ["global_queue"].contains(&key);
        let reported =
            [format!("`{key}`"), format!("`{key}[]`")].iter().any(|name| documented.contains(name));
        assert!(own || reported, "docs/reference/json.md does not describe {key}");
    }
}

#[test]
fn the_sentence_counts() {
    let with = |verdicts: &[&'static str]| {
        let of = |verdict: &&'static str| ExperimentReport { verdict, ..some().remove(0) };
        sentence(&verdicts.iter().map(of).collect::<Vec<_>>())
    };
    let check = |verdicts: &[&'static str], expected: &str| assert_eq!(with(verdicts), expected);
    check(&[], "No experiment was run to its end.");
    check(&["reproduced"], "The experiment is reproduced.");
    check(&["not_reached"], "0 of 1 experiments are reproduced, 1 is not reached.");
    check(&["calibrated"], "There was nothing to reproduce; 1 is calibrated.");
    check(
        &["reproduced", "not_reached", "not_reached", "undecidable", "calibrated"],
        "1 of 4 experiments is reproduced, 2 are not reached, 1 is undecidable; 1 is calibrated.",
    );
}
