//! `scx_bpf_kick_cpu()`.

use crate::harness::*;
use keel_trace::What;

const IDLE: u64 = 1;
const PREEMPT: u64 = 2;
const WAIT: u64 = 4;

/// A hog occupies CPU 0 for long. A task wakes on CPU 1 every 2 ms and kicks `target`.
fn kicking(target: u32, flags: u64) -> Scenario {
    let base = with("tracer").cpus(2).set("slice_ns", 50_000_000).set("only_pid", 3);
    let base = base.set("enqueue_kicks", target).set("kick_flags", flags).set("enqueue_dsq", LOCAL);
    base.task(hog("x").on([0])).task(repeat("a", [run(100), sleep(2000)]).on([1]).after_ms(1)).millis(40)
}

fn kicks(run: &Run) -> Vec<u32> {
    run.events_of(|e| match e.what {
        What::Kick { target, .. } => Some(target.0),
        _ => None,
    })
}

#[test]
fn a_plain_kick_reschedules_and_a_task_with_slice_left_goes_on() {
    let run = kicking(0, 0).survives();
    assert_eq!(kicks(&run).len(), run.count("a", "enqueue"));
    assert_eq!(run.count("x", "stopping"), 0);
    assert!(
        run.calls.iter().all(|c| c.op != "dispatch" || c.cpu != 0 || c.pid != run.pid("x")),
        "{}",
        run.log()
    );
}

#[test]
fn preempt_ends_the_slice() {
    let run = kicking(0, PREEMPT).survives();
    // The hog is alone on its CPU, so it is kept with a new slice after ops.dispatch was called.
    assert!(run.calls.iter().any(|c| c.op == "dispatch" && c.cpu == 0 && c.pid == run.pid("x")));
    let y = task("y", [run_us()]).on([0]).after_ms(5);
    let run = kicking(0, PREEMPT).task(y.clone()).survives();
    assert!(near(run.first("y", "running").at, 6000, 2500), "{}", run.log());
    let patient = kicking(0, 0).task(y).survives();
    assert!(patient.of("y").all(|c| c.op != "running"), "a plain kick does not help it");
}

fn run_us() -> keel_abi::task::Step {
    run(100)
}

#[test]
fn an_idle_kick_leaves_the_busy_alone() {
    assert_eq!(kicks(&kicking(0, IDLE).survives()), [0u32; 0]);
}

#[test]
fn an_idle_kick_wakes_the_idle() {
    // A task waits behind the hog in the shared queue, and CPU 2 is idle.
    let base = |kicks: i32| {
        let base =
            with("tracer").cpus(3).set("slice_ns", 50_000_000).set("only_pid", 3).set("select_this", 0);
        let base = base.set("enqueue_kicks", kicks).set("kick_flags", IDLE);
        base.task(hog("x").on([0])).task(hog("a").after_ms(2)).millis(40)
    };
    let run = base(2).survives();
    assert_eq!(run.starts("a").first().map(|(_, cpu)| cpu.0), Some(2), "{}", run.log());
    assert!(near(run.starts("a")[0].0, 2000, 200));
    assert_eq!(base(-1).survives().starts("a").len(), 0, "it waits");
}

#[test]
fn kicks_of_one_callback_are_one() {
    let run = kicking(0, 0).set("kick_times", 5).survives();
    assert_eq!(kicks(&run).len(), run.count("a", "enqueue"));
}

#[test]
fn they_go_out_when_the_lock_has_been_given_back() {
    let run = kicking(0, PREEMPT).survives();
    let kicked = run.events_of(|e| matches!(e.what, What::Kick { .. }).then_some(e.at));
    let running: Vec<_> = run.of("a").filter(|c| c.op == "enqueue").map(|c| c.at).collect();
    for (kick, enqueue) in kicked.iter().zip(running) {
        assert!(*kick > enqueue);
    }
    let callback_ends = run.events_of(|e| match e.what {
        What::Callback { op: keel_abi::scx::Op::Enqueue, task, .. } if task == run.id("a") => Some(e.at),
        _ => None,
    });
    assert!(kicked.iter().zip(callback_ends).all(|(kick, end)| *kick >= end));
}

#[test]
fn words_for_wrong_ones() {
    kicking(0, IDLE | PREEMPT).fails("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE");
    kicking(99, 0).fails("invalid CPU 99");
}

/// How long `a` had its CPU each time, in ns.
fn lengths(run: &Run) -> Vec<u64> {
    run.starts("a").iter().zip(run.stops("a")).map(|((from, _), to)| to.since(*from).as_ns()).collect()
}

#[test]
fn the_waiter_goes_on_when_the_kicked_cpu_has_picked() {
    // Interrupts between CPUs take long enough for the kicking CPU to finish first.
    let slow = || {
        let mut machine = keel_lab::machines::of_cpus(2);
        *machine.constant("ipi_ns").expect("there is such a cost").0 = 20_000;
        machine
    };
    let patient = kicking(0, PREEMPT | WAIT).on(slow()).survives();
    let hasty = kicking(0, PREEMPT).on(slow()).survives();
    let picks: Vec<_> =
        patient.calls.iter().filter(|c| c.op == "dispatch" && c.cpu == 0).map(|c| c.at).collect();
    let kicked = patient.events_of(|e| matches!(e.what, What::Kick { .. }).then_some(e.at));
    assert!(kicked.len() > 10);
    for kick in kicked {
        let pick = picks.iter().find(|&&at| at > kick).expect("the kick is followed");
        let next = patient.stops("a").into_iter().find(|&at| at > kick).expect("it ends");
        assert!(
            next.since(*pick).as_ns() > 100_000,
            "`a` works for 100 µs after the pick at {pick:?}, until {next:?}"
        );
    }
    let (long, short) = (lengths(&patient), lengths(&hasty));
    assert!(long.iter().min() > short.iter().max(), "{long:?} {short:?}");
}

#[test]
fn no_kick_waits_for_an_idle_cpu_or_one_of_another_class() {
    let on_idle = |flags| {
        let base = with("tracer").cpus(2).set("enqueue_kicks", 0).set("kick_flags", flags);
        lengths(&base.task(repeat("a", [run_us(), sleep(2000)]).on([1])).millis(20).survives())
    };
    assert_eq!(on_idle(WAIT)[2..], on_idle(0)[2..]);
}

#[test]
fn cpus_that_wait_for_each_other_all_get_on() {
    let base = with("tracer").cpus(3).set("slice_ns", 1_000_000).set("kick_flags", PREEMPT | WAIT);
    let base = base.set("enqueue_kicks", 0).set("kicks_too", 1);
    let tasks =
        (0..6).map(|i| repeat(["a", "b", "c", "d", "e", "f"][i], [run_us(), sleep(50)]).on([i as u32 % 3]));
    let run = tasks.fold(base, |base, task| base.task(task)).millis(50).survives();
    for name in ["a", "b", "c", "d", "e", "f"] {
        assert!(run.starts(name).len() > 50, "{name}: {}", run.starts(name).len());
    }
}

#[test]
fn cpus_are_kicked_in_order() {
    // CPU 3 kicks the two others, the higher-numbered first.
    let base = with("tracer").cpus(4).set("enqueue_kicks", 2).set("kicks_too", 0).set("only_pid", 2);
    let run = base.task(repeat("a", [run(100), sleep(1000)]).on([3])).millis(20).survives();
    let kicked = kicks(&run);
    assert!(kicked.len() > 10 && kicked.chunks(2).all(|pair| pair == [0, 2]), "{kicked:?}");
}
