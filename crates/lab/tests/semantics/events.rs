//! The kernel's counters of events that a scheduler may not notice (`scx_bpf_events()`).

use crate::harness::*;
use crate::outside::at;
use keel_abi::task::Step;
use keel_abi::timeline::Change;
use keel_lab::Engine;

/// The counters by their indices in `struct scx_event_stats`.
const SELECT_CPU_FALLBACK: u32 = 0;
const DISPATCH_LOCAL_DSQ_OFFLINE: u32 = 1;
const DISPATCH_KEEP_LAST: u32 = 2;
const ENQ_SKIP_MIGRATION_DISABLED: u32 = 4;
const REENQ_IMMED: u32 = 5;
const REENQ_LOCAL_REPEAT: u32 = 6;
const REFILL_SLICE_DFL: u32 = 7;
const BYPASS_DURATION: u32 = 8;
const BYPASS_DISPATCH: u32 = 9;
const BYPASS_ACTIVATE: u32 = 10;
const COUNTERS: usize = 13;

/// The non-zero counters when a task last blocked: names and values.
fn last(run: &Run) -> Vec<(u32, u64)> {
    let said: Vec<_> = run.calls.iter().filter(|call| call.op == "event").collect();
    let last = said.last_chunk::<COUNTERS>().unwrap_or_else(|| panic!("nobody blocked: {}", run.log()));
    last.iter().filter(|call| call.value > 0).map(|call| (call.pid, call.value)).collect()
}

/// With both engines.
fn check(scenario: &Scenario, expected: &[(u32, u64)]) {
    for engine in [Engine::Native, Engine::Interpreter] {
        let run = scenario.clone().engine(engine).survives();
        assert_eq!(last(&run), expected, "{engine:?}: {}", run.log());
    }
}

#[test]
fn a_task_that_goes_on_alone_and_gets_a_new_slice() {
    // 5 ms by the scheduler's slice; then twice 20 ms, and the rest.
    let scenario = with("events").task(task("a", [run(50_000), sleep(1000)])).millis(60);
    check(&scenario, &[(DISPATCH_KEEP_LAST, 3), (REFILL_SLICE_DFL, 3), (BYPASS_ACTIVATE, 1)]);
}

#[test]
fn a_choice_that_the_task_may_not_use() {
    let steps = [run(100), sleep(500), run(100), sleep(500), run(100), sleep(50_000)];
    let scenario = with("events").cpus(4).set("select_default", 0).set("select_this", 1);
    // Its fork is no wakeup.
    let scenario = scenario.task(task("a", steps).on([2, 3])).millis(20);
    check(&scenario, &[(SELECT_CPU_FALLBACK, 2), (BYPASS_ACTIVATE, 1)]);
}

#[test]
fn a_task_that_may_not_migrate_now() {
    let steps = [Step::MigrateDisable, run(500), sleep(500), run(500), sleep(500), run(100), sleep(50_000)];
    let scenario = with("events").cpus(2).set("select_this", 1).task(task("a", steps)).millis(20);
    check(&scenario, &[(ENQ_SKIP_MIGRATION_DISABLED, 2), (REFILL_SLICE_DFL, 2), (BYPASS_ACTIVATE, 1)]);
}

#[test]
fn a_local_queue_of_a_cpu_that_is_off() {
    let scenario = with("events").cpus(2).set("enqueue_dsq", 0).set("dispatch_dsq", "0xc000000000000001");
    let scenario = scenario.workload(|w| w.timeline.push(at(1000, Change::Offline(set([1])))));
    // A task that may go there is there already if it began on CPU 1.
    let scenario = scenario.set("dispatch_only_on", 0).task(task("a", [run(100), sleep(50_000)]).after_ms(5));
    check(&scenario.millis(20), &[(DISPATCH_LOCAL_DSQ_OFFLINE, 1), (BYPASS_ACTIVATE, 1)]);
}

#[test]
fn a_task_that_was_to_run_at_once() {
    let scenario = with("events").set("select_default", 0).set("enqueue_dsq", LOCAL);
    let scenario =
        scenario.set("enqueue_flags", 1u64 << 33).set("again_to_own", 1).set("slice_ns", 20_000_000);
    let scenario = scenario.task(hog("x")).task(task("a", [run(100), sleep(50_000)]).after_ms(5)).millis(40);
    // `a` behind `x`, and `x` when its slice is over.
    check(&scenario, &[(REENQ_IMMED, 2), (BYPASS_ACTIVATE, 1)]);
}

#[test]
fn a_task_that_was_to_run_at_once_and_is_put_back_there() {
    let scenario = with("events").set("select_default", 0).set("enqueue_dsq", LOCAL);
    let scenario =
        scenario.set("enqueue_flags", 1u64 << 33).set("again_to_own", 3).set("slice_ns", 20_000_000);
    let scenario = scenario.task(hog("x")).task(task("a", [run(100), sleep(50_000)]).after_ms(5)).millis(40);
    // `a` comes back three times, all at once, and `x` when its slice is over.
    check(&scenario, &[(REENQ_IMMED, 4), (REENQ_LOCAL_REPEAT, 2), (BYPASS_ACTIVATE, 1)]);
}

#[test]
fn a_scheduler_that_comes_again_begins_at_zero() {
    let scenario = with("events").cpus(2).recipe("restart_ms = 5\n").set("ends_at_enqueue", 0).millis(60);
    let scenario = scenario.task(hog("b")).task(repeat("a", [run(100), sleep(3000)]));
    let run = scenario.workload(|w| w.timeline.push(at(10_000, Change::Offline(set([1])))));
    let run = run.survives();
    let counted = last(&run);
    let of = |counter| counted.iter().find(|(number, _)| *number == counter).map_or(0, |&(_, value)| value);
    assert_eq!(of(BYPASS_ACTIVATE), 1, "{counted:?}");
    assert_eq!(of(BYPASS_DURATION) > 0, of(BYPASS_DISPATCH) > 0, "{counted:?}");
}
