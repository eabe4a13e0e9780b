//! Bypass mode while a scheduler is enabled or disabled, and a scheduler that is reloaded within a run.

use crate::harness::*;
use crate::outside::{at, every};
use keel_abi::scx::ExitKind;
use keel_abi::task::{Policy, Step};
use keel_abi::timeline::Change;
use keel_abi::{Instant, Span};
use keel_lab::Engine;
use keel_trace::What;

const RESTART: i64 = 1 << 48;
const DECIDES: &[&str] = &["select_cpu", "enqueue", "dispatch", "tick", "update_idle", "yield"];

/// CPU 1 goes offline at 10 ms, which ends a scheduler without ops.cpu_offline. Its loader is back 5 ms later.
fn again(cpus: u32) -> Scenario {
    let base = with("tracer").cpus(cpus).recipe("restart_ms = 5\n").set("slice_ns", 2_000_000).millis(60);
    base.workload(|w| w.timeline.push(at(10_000, Change::Offline(set([1])))))
}

/// When bypass began and ended.
fn bypasses(run: &Run) -> Vec<(Instant, Instant)> {
    let toggles = run.events_of(|e| match e.what {
        What::Bypass { on } => Some((e.at, on)),
        _ => None,
    });
    let mut open = None;
    let mut found = Vec::new();
    for (at, on) in toggles {
        match (on, open) {
            (true, None) => open = Some(at),
            (false, Some(since)) => {
                found.push((since, at));
                open = None;
            }
            _ => panic!("bypass begins and ends in turn"),
        }
    }
    found.extend(open.map(|since| (since, run.outcome.end)));
    found
}

fn when(run: &Run, op: &str) -> Vec<Instant> {
    run.calls.iter().filter(|c| c.op == op).map(|c| c.at).collect()
}

#[test]
fn a_scheduler_that_the_kernel_wants_back_is_loaded_again() {
    let run = again(2).task(hog("a")).task(hog("b")).task(task("gone", [run(100)])).survives();
    assert_eq!(run.outcome.counters.restarts, 1);
    let (inits, exits) = (when(&run, "init"), when(&run, "exit"));
    assert_eq!((inits.len(), exits.len()), (2, 1), "{}", run.log());
    let between = inits[1].since(exits[0]).as_ns();
    assert!((5_000_000..5_100_000).contains(&between), "{between}");
    assert!(
        !run.calls
            .iter()
            .any(|c| c.at > exits[0] && c.at < inits[1] && c.op != "exit_code" && c.op != "said")
    );
    // Existing tasks are initialised as at any start. Dead ones are not.
    let taken: Vec<(u32, u64)> = run
        .calls
        .iter()
        .filter(|c| c.op == "init_task" && c.at > inits[1])
        .map(|c| (c.pid, c.value))
        .collect();
    let born = |name: &str| run.pid(name);
    let by_birth = [born("a").min(born("b")), born("a").max(born("b"))];
    assert_eq!(taken, [(1, 0), (by_birth[0], 0), (by_birth[1], 0)]);
    assert!(run.of("a").any(|c| c.op == "enqueue" && c.at > inits[1]), "{}", run.log());
}

#[test]
fn without_a_word_of_the_recipe_the_run_ends() {
    let change = at(10_000, Change::Offline(set([1])));
    let base = with("tracer").cpus(2).task(hog("a")).workload(|w| w.timeline.push(change));
    let run = base.ends(ExitKind::UnregKern, "cpu 1 going offline, exiting scheduler");
    assert_eq!((run.outcome.counters.restarts, run.outcome.code), (0, RESTART | 1 << 32));
}

#[test]
fn meanwhile_tasks_are_in_the_fair_class() {
    let run = again(2).task(hog("a")).task(hog("b").nice(5)).survives();
    let (gone, back) = (when(&run, "exit")[0], when(&run, "init")[1]);
    // On the only remaining CPU, by weight: 1024 to 335.
    let share = |name: &str| {
        let mut stops = run.stops(name).into_iter().chain([run.outcome.end]).peekable();
        let pieces = run.starts(name).into_iter().map(move |(from, _)| {
            while stops.next_if(|&to| to < from).is_some() {}
            (from, *stops.peek().expect("it ends some time"))
        });
        pieces.map(|(from, to)| to.min(back).since(from.max(gone)).as_ns()).sum::<u64>() / 1000
    };
    let (a, b) = (share("a"), share("b"));
    assert!(a + b > 4900 && (3000..4300).contains(&a), "{a} {b}");
}

#[test]
fn every_waiting_task_goes_round_as_bypassing_begins() {
    // `x` runs, `y` waits in one of the scheduler's queues, `z` is held by the BPF program, `s` sleeps.
    let base = with("tracer").set("slice_ns", 50_000_000).set("only_pid", 4).set("enqueue_dsq", 0);
    let base = base.set("ends_at_enqueue", 4).set("ends_by", 2).task(hog("x")).task(hog("y").after_ms(1));
    let base = base.task(hog("z").after_ms(2)).task(hog("last").after_ms(5)).millis(20);
    let run = base.run();
    let begins = bypasses(&run)[0].0;
    let rounds = |name: &str| -> Vec<String> {
        let shown = |c: &Call| format!("{}={:x}", c.op, c.value);
        let late = run.of(name).filter(|c| c.at >= begins && c.op != "left" && c.op != "slice");
        late.map(shown).collect()
    };
    let expected = [
        "dequeue=20000000e",
        "quiescent=20000000e",
        "runnable=e",
        "quiescent=20000004e",
        "disable=0",
        "exit_task=0",
    ];
    assert_eq!(rounds("y"), expected, "{}", run.log());
    assert_eq!(rounds("z"), expected, "{}", run.log());
    assert_eq!(rounds("x"), ["stopping=0", "quiescent=20000004e", "disable=0", "exit_task=0"]);
}

#[test]
fn bypass_ends_with_every_task_back_in_the_scheduler() {
    // On one CPU `a` runs and `b` waits when the scheduler comes back.
    let run = again(2).task(hog("a")).task(hog("b")).survives();
    let back = when(&run, "init")[1];
    let begins = |name: &str| -> Vec<String> {
        let shown = |c: &Call| if c.value == 0 { c.op.clone() } else { format!("{}={:x}", c.op, c.value) };
        let ops = [
            "enable",
            "set_weight",
            "set_cpumask",
            "runnable",
            "quiescent",
            "enqueue",
            "running",
            "stopping",
        ];
        let late = run.of(name).filter(|c| c.at > back && ops.contains(&c.op.as_str()));
        late.take(8).map(shown).collect()
    };
    let (first, second) = (begins("a"), begins("b"));
    let (runs, waits) = if first[4].starts_with("running") { (first, second) } else { (second, first) };
    assert_eq!(runs[..4], ["enable=64", "set_weight=64", "set_cpumask=3", "runnable=4e"]);
    // A slice of bypass.
    assert_eq!(runs[4], "running=4c4b40");
    let expected = [
        "enable=64",
        "set_weight=64",
        "set_cpumask=3",
        "runnable=4e",
        "quiescent=20000000e",
        "runnable=e",
        "enqueue=e",
    ];
    assert_eq!(waits[..7], expected, "{}", run.log());
}

/// A long bypass: callbacks take long, and this many tasks must be initialised one by one while others wake and work.
fn long() -> Scenario {
    let mut machine = keel_lab::machines::of_cpus(4);
    machine.costs.callback_ns = 20_000;
    let base = again(4).on(machine).millis(100).set("slice_ns", 500_000);
    let base = base.task(repeat("a", [run(300), sleep(100)]).instances(6)).task(hog("h").instances(3));
    base.task(task("idler", [sleep(900_000)]).instances(100).after_ms(1))
}

#[test]
fn deciding_callbacks_are_skipped_and_notifying_ones_called() {
    let run = long().survives();
    let windows = bypasses(&run);
    assert_eq!(
        windows.len(),
        2,
        "one at the end of the first, one at the beginning of the second: {windows:?}"
    );
    let (from, to) = windows[1];
    assert!(to.since(from) > Span::from_ms(1), "{windows:?}");
    let within = |c: &&Call| {
        windows.iter().any(|&(from, to)| c.at > from + Span::from_us(600) && c.at + Span::from_us(600) < to)
    };
    let asked: Vec<&Call> =
        run.calls.iter().filter(within).filter(|c| DECIDES.contains(&c.op.as_str())).collect();
    assert!(asked.is_empty(), "{asked:?}");
    let reported = |op: &str| run.calls.iter().filter(within).any(|c| c.op == op);
    assert!(
        ["running", "stopping", "runnable", "quiescent", "enable", "set_weight", "set_cpumask"]
            .iter()
            .all(|op| reported(op))
    );
}

#[test]
fn each_tick_of_bypass_takes_the_next() {
    // Three that never sleep on the one CPU that is not enabling: without bypass their slices would be 50 ms.
    let mut machine = keel_lab::machines::of_cpus(3);
    machine.costs.callback_ns = 50_000;
    let base = again(3).on(machine).set("slice_ns", 50_000_000).millis(60);
    let base = base.task(hog("h").on([2]).instances(3)).task(task("idler", [sleep(900_000)]).instances(60));
    let run = base.survives();
    let (from, to) = bypasses(&run)[1];
    let mut starts: Vec<u64> =
        run.ids("h").iter().flat_map(|&id| run.starts_of(id)).map(|(at, _)| at.as_ns()).collect();
    starts.retain(|&at| at > from.as_ns() && at < to.as_ns());
    starts.sort_unstable();
    let turns: Vec<u64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) / 100_000).collect();
    // A tick is a millisecond.
    let of_a_tick = turns.iter().filter(|&&turn| (8..=12).contains(&turn)).count();
    assert!(of_a_tick >= 4 && of_a_tick * 3 > turns.len() * 2, "{turns:?}");
}

#[test]
fn its_time_is_measured() {
    let run = long().survives();
    let total: u64 = bypasses(&run).iter().map(|(from, to)| to.since(*from).as_ns()).sum();
    assert_eq!(run.outcome.counters.bypass.as_ns(), total);
    assert!(total > 1_000_000);
    // A scheduler that stays from boot to the end is never bypassed.
    let quiet = with("tracer").cpus(2).task(hog("a")).millis(10).survives();
    assert_eq!(quiet.outcome.counters.bypass, Span::ZERO);
}

#[test]
fn no_task_is_lost_on_the_way() {
    let run = long().survives();
    for id in run.ids("a").into_iter().chain(run.ids("h")) {
        let last = run.starts_of(id).last().expect("it runs").0;
        assert!(last > Instant::ZERO + Span::from_ms(80), "{last:?}");
    }
    assert!(run.misplaced().is_empty());
}

#[test]
fn its_variables_and_queues_are_reset_a_bounded_number_of_times() {
    // Each of them exits by itself at its 40th enqueue. The sixth is the last.
    let base = with("tracer").recipe("restart_ms = 1\n").set("ends_at_enqueue", 40).set("ends_by", 4);
    let base =
        base.task(repeat("a", [run(100), sleep(100)])).task(repeat("b", [run(70), sleep(100)])).millis(900);
    let run = base.run();
    assert_eq!((run.outcome.exit, run.outcome.code), (ExitKind::UnregBpf, RESTART | 9));
    assert_eq!(run.outcome.counters.restarts, 5);
    let inits = when(&run, "init");
    assert_eq!(inits.len(), 6);
    let enqueues = |from: usize| {
        let to = inits.get(from + 1).copied().unwrap_or(run.outcome.end);
        run.calls.iter().filter(|c| c.op == "enqueue" && c.at > inits[from] && c.at < to).count()
    };
    assert!(
        (0..6).all(|from| (40..44).contains(&enqueues(from))),
        "{:?}",
        (0..6).map(enqueues).collect::<Vec<_>>()
    );
}

#[test]
fn an_error_is_no_wish_to_come_back() {
    let base = with("tracer").recipe("restart_ms = 1\n").set("ends_at_enqueue", 5).set("ends_by", 1);
    let run = base.task(repeat("a", [run(100), sleep(100)])).ends(ExitKind::ErrorBpf, "the end of 2");
    assert_eq!(run.outcome.counters.restarts, 0);
}

#[test]
fn a_beginning_that_fails_ends_the_run() {
    let run = |setting: &str, pid: u32| {
        let base = again(2).task(hog("a")).set(setting, pid).set("init_task_answer", -12).run();
        (base.outcome.exit, base.outcome.message)
    };
    // The first task was born by fork, so that the first scheduler never asked for it that way.
    let words = "ops.init_task() failed (-12) for a[2]";
    assert_eq!(run("init_task_fails_unforked_pid", 2), (ExitKind::Error, words.to_owned()));
}

#[test]
fn a_task_disallowed_at_enable_stays_in_the_fair_class() {
    let base = again(2).recipe("[ops]\nflags = ['SCX_OPS_SWITCH_PARTIAL']\n").set("disallow_unforked_pid", 2);
    let asks = Step::Policy(Policy::Ext);
    let steps = [run(30_000), asks, run(5000), Step::Policy(Policy::Batch), run(60_000)];
    let run = base.task(task("a", steps).policy(Policy::Ext)).task(hog("b").policy(Policy::Ext)).survives();
    assert_eq!(run.pid("a"), 2);
    let back = when(&run, "init")[1];
    let late = |name: &str, op: &str| run.of(name).filter(|c| c.at > back && c.op == op).count();
    assert_eq!((late("a", "init_task"), late("a", "enable")), (1, 0), "{}", run.log());
    assert_eq!((late("b", "init_task"), late("b", "enable")), (1, 1));
}

#[test]
fn cpus_come_and_go_without_a_scheduler() {
    let base = again(3).task(hog("a").instances(4)).workload(|w| {
        w.timeline.push(at(12_000, Change::Offline(set([2]))));
        w.timeline.push(at(13_000, Change::Online(set([1]))));
    });
    let run = base.survives();
    let toggled = run.events_of(|e| match e.what {
        What::Online { target, up } => Some((e.at.as_ns() / 1_000_000, target.0, up)),
        _ => None,
    });
    assert_eq!(toggled, [(10, 1, false), (12, 2, false), (13, 1, true)]);
    assert_eq!(run.outcome.counters.restarts, 1);
    assert!(run.misplaced().is_empty());
}

#[test]
fn forks_and_wakeups_go_on_all_the_while() {
    let child = task("child", [run(50), sleep(200), run(50)]).instances(0);
    let parent = repeat("parent", [run(40), Step::Fork(0), sleep(60)]).instances(4);
    let base = again(3).millis(120).recipe("").task(child).task(parent);
    let base = base.workload(|w| {
        w.timeline.push(every(16_000, Change::Online(set([1]))));
        w.timeline.push(every(29_000, Change::Offline(set([1]))));
    });
    let run = base.run();
    assert!(run.outcome.counters.restarts >= 3, "{:?}", run.outcome);
    let mut unborn: Vec<_> = run.ids("child");
    unborn.retain(|&id| run.starts_of(id).is_empty());
    assert!(unborn.len() < 8, "{unborn:?}");
    assert!(run.misplaced().is_empty());
}

#[test]
fn both_engines_agree() {
    let run = |engine| long().engine(engine).survives();
    let (native, interpreted) = (run(Engine::Native), run(Engine::Interpreter));
    assert_eq!(native.events, interpreted.events);
    assert_eq!(native.outcome.counters, interpreted.outcome.counters);
}
