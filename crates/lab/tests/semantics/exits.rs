//! How a scheduler ends, in whose words.

use crate::harness::*;
use keel_abi::scx::ExitKind;

fn ending(by: u32) -> Scenario {
    with("tracer").set("ends_at_enqueue", 2).set("ends_by", by).task(hog("a")).task(hog("b").after_ms(1))
}

/// What `ops.exit` was told: kind, code, reason and message.
fn told(run: &Run) -> (u64, u64, String) {
    let said = run.outcome.printed.lines.iter().find_map(|line| line.text.strip_prefix("said 0 0 0 "));
    let value = |op: &str| run.global(op).first().map(|c| c.value).expect("ops.exit ran");
    (value("exit"), value("exit_code"), said.expect("ops.exit ran").to_owned())
}

#[test]
fn by_its_own_error() {
    let run = ending(1).ends(ExitKind::ErrorBpf, "the end of 3");
    assert_eq!(told(&run), (1025, 0, "scx_bpf_error|the end of 3".into()));
}

#[test]
fn by_its_own_wish() {
    let run = ending(2).ends(ExitKind::UnregBpf, "the end of 3");
    assert_eq!(told(&run), (65, 42, "unregistered from BPF|the end of 3".into()));
    assert!(!run.outcome.exit.is_error());
}

#[test]
fn the_first_end_counts() {
    let run = ending(3).ends(ExitKind::ErrorBpf, "first");
    assert_eq!(told(&run), (1025, 0, "scx_bpf_error|first".into()));
}

#[test]
fn by_the_kernel() {
    let run = with("tracer").set("enqueue_dsq", 99).task(hog("a")).fails("non-existent DSQ 0x63");
    assert_eq!(told(&run), (1024, 0, "runtime error|non-existent DSQ 0x63".into()));
}
