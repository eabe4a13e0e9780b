//! An interactive task among others, on the machines of 2002: how soon it runs under `goodness` and `o1`.
//!
//! docs/explanation/experiments.md has the figures of longer runs.
#![forbid(unsafe_code)]

mod common;

use common::{source, spec};
use keel_abi::scx::ExitKind;
use keel_check::{Judge, NameFigures};
use keel_lab::{machines, schedulers, workloads};

/// Runs `typist` beside these tasks for six seconds, in which it would wake six hundred times.
fn typist(scheduler: &str, machine: &str, beside: &str, seed: u64) -> NameFigures {
    let machine = machines::built_in(machine).expect(machine);
    let text = workloads::built_in("typist").expect("it is built in");
    let alone = workloads::read("typist", text, &machine).expect("our own file is right").0;
    let others = workloads::made(beside, &machine).expect(beside).expect(beside);
    let workload = workloads::join(beside, vec![alone, others]).expect(beside);
    let object = schedulers::built_in(scheduler).expect(scheduler);
    let mut judge = Judge::default();
    let spec = spec(source(scheduler, object), workload, machine, 6_000, seed);
    let outcome = keel_lab::run(&spec, &mut judge, &mut |_| {}).expect(scheduler);
    assert_eq!((outcome.exit, outcome.message.as_str()), (ExitKind::None, ""), "{scheduler} beside {beside}");
    let names = judge.judgement().summary.names;
    names.into_iter().find(|name| name.name == "typist").expect("it ran")
}

/// The median of three seeds. With some, `o1` lets a task next to chat on one CPU starve for seconds (see its header),
/// and with some, `goodness` is fast for six seconds.
fn middle(scheduler: &str, machine: &str, beside: &str) -> NameFigures {
    let mut runs = [1, 2, 3].map(|seed| typist(scheduler, machine, beside, seed));
    runs.sort_by_key(|run| run.woken);
    let [_, middle, _] = runs;
    middle
}

/// `o1` serves nearly every wakeup quickly and `goodness` fewer. The slowest percent are at least `factor` times later.
fn check(machine: &str, beside: &str, factor: u64) {
    let (old, new) = (middle("goodness", machine, beside), middle("o1", machine, beside));
    let (late, soon) = (old.wakeup_delay.p99.as_ns(), new.wakeup_delay.p99.as_ns());
    assert!(late > factor * soon, "{machine}, {beside}: {late} and {soon} ns");
    assert!(
        new.woken >= 450 && new.woken > old.woken,
        "{machine}, {beside}: {} and {}",
        old.woken,
        new.woken
    );
}

#[test]
fn an_interactive_task_runs_far_sooner_under_o1() {
    check("xeon-8", "hogs:1000", 100);
    check("xeon-8", "chat:10:20:1000", 5);
    check("xeon-8", "make:0:500", 2);
    check("p3-1", "chat:10:20:1000", 1_000);
    check("p3-1", "make:0:500", 2);
}

#[test]
fn behind_a_thousand_hogs_on_one_cpu_goodness_hardly_lets_it_run() {
    let old = typist("goodness", "p3-1", "hogs:1000", 1);
    let new = middle("o1", "p3-1", "hogs:1000");
    // A round of 60 ms for each hog outlasts the run, and a task that is still waiting at the end has no delay yet.
    assert!(old.woken < 50, "{} times", old.woken);
    assert!(new.woken > 550 && new.wakeup_delay.p99.as_ns() < 10_000, "{new:?}");
}
