//! How a scheduler exits, and with which messages.

use crate::harness::*;
use keel_abi::scx::ExitKind;

fn ending(by: u32) -> Scenario {
    with("tracer").set("ends_at_enqueue", 2).set("ends_by", by).task(hog("a")).task(hog("b").after_ms(1))
}

/// What `ops.exit` received: kind, code, reason and message.
fn reported(run: &Run) -> (u64, u64, String) {
    let said = run.outcome.printed.lines.iter().find_map(|line| line.text.strip_prefix("said 0 0 0 "));
    let value = |op: &str| run.global(op).first().map(|c| c.value).expect("ops.exit ran");
    (value("exit"), value("exit_code"), said.expect("ops.exit ran").to_owned())
}

#[test]
fn by_its_own_error() {
    let run = ending(1).ends(ExitKind::ErrorBpf, "the end of 3");
    assert_eq!(reported(&run), (1025, 0, "scx_bpf_error|the end of 3".into()));
}

#[test]
fn by_its_own_wish() {
    let run = ending(2).ends(ExitKind::UnregBpf, "the end of 3");
    assert_eq!(reported(&run), (65, 42, "unregistered from BPF|the end of 3".into()));
    assert!(!run.outcome.exit.is_error());
}

#[test]
fn the_first_end_counts() {
    let run = ending(3).ends(ExitKind::ErrorBpf, "first");
    assert_eq!(reported(&run), (1025, 0, "scx_bpf_error|first".into()));
}

#[test]
fn by_the_kernel() {
    let run = with("tracer").set("enqueue_dsq", 99).task(hog("a")).fails("non-existent DSQ 0x63");
    assert_eq!(reported(&run), (1024, 0, "runtime error|non-existent DSQ 0x63".into()));
}

#[test]
fn the_call_that_brought_it_about_is_named_with_its_source_line() {
    let check = |scenario: Scenario, op: &str, kfunc: &str| {
        let run = scenario.run();
        assert_eq!(run.outcome.exit, ExitKind::Error, "{}", run.outcome.message);
        let place = run.outcome.place.expect("a call did");
        let (callback_of, rest) = place.split_once(", ").expect("the callback first");
        assert_eq!(callback_of, format!("ops.{op}()"), "{place}");
        // The call may be in a function that the callback calls.
        assert!(rest.contains(" insn "), "{place}");
        assert!([".c:", ".h:"].iter().any(|file| rest.contains(file)) && rest.contains(kfunc), "{place}");
    };
    let tracer = || with("tracer").task(hog("a"));
    check(tracer().set("enqueue_dsq", 99), "enqueue", "insert");
    check(tracer().set("consume_dsq", 99), "dispatch", "move_to_local");
    check(tracer().set("peek_dsq", 99), "dispatch", "peek");
    // These take effect after the call that requests them: at the wakeup, and when ops.dispatch has returned.
    let wakes = with("tracer").cpus(2).task(repeat("a", [run(100), sleep(100)]));
    check(wakes.set("select_dsq", 99), "select_cpu", "insert");
    let by_hand = tracer().set("enqueue_dsq", 0).set("dispatch_moves", 0).set("select_default", 0);
    check(by_hand.set("dispatch_dsq", 99), "dispatch", "insert");
}
