//! Iterating over queues, moving tasks out of them, and peeking into them.

use crate::harness::*;

const ENOENT: u64 = -2i64 as u64;

/// Three tasks wait in OWN_DSQ while one runs; then ops.dispatch iterates.
fn three_wait() -> Scenario {
    let base =
        with("tracer").set("slice_ns", 10_000_000).set("select_default", 0).set("dispatch_iterates", 1);
    let late = |name| task(name, [run(1000)]).after_ms(1);
    base.task(task("x", [run(6000)]).on([0])).task(late("a")).task(late("b")).task(late("c"))
}

/// The log of the first iteration that saw `a`: which task, and whether it was moved.
fn first_pass(run: &Run, op: &str) -> Vec<(u32, u64)> {
    let start = run.calls.iter().position(|c| c.op == "sees" && c.pid == run.pid("a")).expect("seen");
    let pass = run.calls[start..].iter().take_while(|c| c.op != "dispatch" && c.op != "move_to_local");
    pass.filter(|c| c.op == op).map(|c| (c.pid, c.value)).collect()
}

#[test]
fn it_sees_all_in_order_and_moves_them() {
    let run = three_wait().set("move_dsq", LOCAL).set("dispatch_moves", 0).survives();
    let pids: Vec<u32> = first_pass(&run, "sees").into_iter().map(|(pid, _)| pid).collect();
    assert_eq!(pids, [run.pid("a"), run.pid("b"), run.pid("c")]);
    assert!(first_pass(&run, "moved").iter().all(|&(_, moved)| moved == 1));
}

#[test]
fn what_is_no_longer_there_is_not_moved() {
    let run = three_wait().set("move_dsq", LOCAL).set("move_twice", 1).set("dispatch_moves", 0).survives();
    let again = first_pass(&run, "moved_again");
    assert_eq!(again.len(), 3);
    assert!(again.iter().all(|&(_, moved)| moved == 0), "{again:?}");
}

#[test]
fn what_is_queued_since_it_began_is_not_seen() {
    // Each goes to the same queue's end.
    let run = three_wait().set("move_dsq", 1).survives();
    assert_eq!(first_pass(&run, "sees").len(), 3, "{}", run.log());
    assert!(first_pass(&run, "moved").iter().all(|&(_, moved)| moved == 1));
}

#[test]
fn a_slice_for_the_move() {
    let base = three_wait().set("move_dsq", LOCAL).set("move_slice", 7_000_000).set("dispatch_moves", 0);
    let run = base.survives();
    assert_eq!(run.values("a", "running"), [7_000_000]);
}

#[test]
fn how_many_wait() {
    let check = |dsq: &str, expected: u64| {
        let run = three_wait().set("count_dsq", dsq).survives();
        let counts = run.global("count");
        assert_eq!(counts.last().map(|c| c.value), Some(expected), "{dsq}");
        counts.iter().map(|c| c.value).max()
    };
    assert_eq!(check("1", 0), Some(3));
    assert_eq!(check(LOCAL, 0), Some(0));
    check(GLOBAL, ENOENT);
    check("99", ENOENT);
}

#[test]
fn peeks_are_for_queues_of_ones_own() {
    with("tracer").set("peek_dsq", 1).task(hog("a")).survives();
    let words = "peek disallowed on builtin DSQ 0x8000000000000002";
    with("tracer").set("peek_dsq", LOCAL).task(hog("a")).fails(words);
    with("tracer").set("peek_dsq", 99).task(hog("a")).fails("peek on non-existent DSQ 0x63");
}
