//! CPUs go on- and offline: which callbacks run, where the tasks go, and how a scheduler that does not handle hotplug
//! exits.

use crate::harness::*;
use crate::outside::{all_ran_where_they_may, at, confine, every};
use keel_abi::scx::ExitKind;
use keel_abi::timeline::{Change, Happening};
use keel_abi::{CpuId, Span};
use keel_trace::What;

const STATES: &[&str] = &["dequeue", "stopping", "quiescent", "runnable", "running", "enqueue"];
/// `SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG`.
const RESTART: i64 = 1 << 48 | 1 << 32;

fn offline(us: u64, cpus: impl IntoIterator<Item = u32>) -> Happening {
    at(us, Change::Offline(set(cpus)))
}

fn online(us: u64, cpus: impl IntoIterator<Item = u32>) -> Happening {
    at(us, Change::Online(set(cpus)))
}

fn with_timeline(scenario: Scenario, timeline: impl IntoIterator<Item = Happening>) -> Scenario {
    scenario.workload(|w| w.timeline.extend(timeline))
}

/// The hotplug events of the run.
fn reported(run: &Run) -> Vec<(u32, bool)> {
    run.events_of(|e| match e.what {
        What::Online { target, up } => Some((target.0, up)),
        _ => None,
    })
}

/// No task runs on an offline CPU or is put on its runqueue.
fn nobody_is_on_a_cpu_that_is_off(run: &Run) {
    let mut off = set([]);
    for event in &run.events {
        let used = match event.what {
            What::Online { target, up: true } => {
                off.remove(target);
                continue;
            }
            What::Online { target, up: false } => {
                off.insert(target);
                continue;
            }
            What::Switch { next, .. } if !next.is_idle() => event.cpu,
            What::Callback { .. } => event.cpu,
            What::Wakeup { target, .. } | What::Fork { target, .. } => {
                assert!(!off.contains(event.cpu), "{event:?}");
                target
            }
            What::Migrate { to, .. } => to,
            _ => continue,
        };
        assert!(!off.contains(used), "{event:?}");
    }
}

#[test]
fn both_callbacks_run_on_the_cpu_itself() {
    let base = with("hotplug").cpus(4).millis(20).task(hog("a"));
    let timeline = [offline(5000, [2]), offline(7000, [3]), online(10_000, [2])];
    let run = with_timeline(base, timeline).survives();
    let calls: Vec<_> = run
        .calls
        .iter()
        .filter(|c| ["cpu_online", "cpu_offline", "online_mask"].contains(&c.op.as_str()))
        .map(|c| (c.op.as_str(), c.cpu, c.value))
        .collect();
    // It goes offline after ops.cpu_offline, and is online before ops.cpu_online.
    assert_eq!(
        calls,
        [
            ("cpu_offline", 2, 2),
            ("online_mask", 2, 0xf),
            ("cpu_offline", 3, 3),
            ("online_mask", 3, 0xb),
            ("cpu_online", 2, 2),
            ("online_mask", 2, 0x7)
        ]
    );
    assert_eq!(reported(&run), [(2, false), (3, false), (2, true)]);
    // Its hotplug thread has just left it.
    let came = run.global("cpu_online")[0].at;
    let idle = run.global("update_idle").into_iter().find(|c| c.cpu == 2 && c.at > came);
    assert_eq!(idle.map(|c| c.value), Some(1), "{}", run.log());
}

#[test]
fn changes_at_one_moment_come_one_after_another() {
    let base = with("hotplug").cpus(5).millis(20).task(hog("a").instances(5));
    let timeline = [offline(5000, [1, 2]), offline(5000, [3]), offline(5000, [4]), online(5000, [2])];
    let run = with_timeline(base, timeline).survives();
    let mut reported = reported(&run);
    reported.sort_unstable();
    assert!([1, 3, 4].into_iter().all(|cpu| reported.contains(&(cpu, false))), "{reported:?}");
    nobody_is_on_a_cpu_that_is_off(&run);
}

#[test]
fn without_the_callbacks_the_kernel_asks_for_a_restart() {
    let base = with("tracer").cpus(4).millis(20).task(hog("a"));
    let run = with_timeline(base.clone(), [offline(5000, [2])])
        .ends(ExitKind::UnregKern, "cpu 2 going offline, exiting scheduler");
    assert_eq!(run.outcome.code, RESTART);
    assert_eq!(run.global("exit")[0].value, 66);
    let run = with_timeline(base, [offline(0, [2]), online(5000, [2])])
        .ends(ExitKind::UnregKern, "cpu 2 going online, exiting scheduler");
    assert_eq!(run.outcome.code, RESTART);
}

#[test]
fn what_is_off_from_the_start_is_off_when_the_scheduler_comes() {
    let base = with("hotplug").cpus(4).millis(20).task(hog("a").instances(8));
    let run = with_timeline(base, [offline(0, [1, 3]), online(10_000, [1])]).survives();
    assert_eq!(run.global("idle_mask")[0].value, 0b0101, "{}", run.log());
    assert_eq!(run.global("cpu_online").len(), 1);
    nobody_is_on_a_cpu_that_is_off(&run);
    let used: std::collections::BTreeSet<CpuId> =
        run.ids("a").into_iter().flat_map(|t| run.starts_of(t)).map(|(_, cpu)| cpu).collect();
    assert_eq!(used, [CpuId(0), CpuId(1), CpuId(2)].into());
}

#[test]
fn a_stale_sequence_number_is_refused() {
    let base = with("hotplug_seq").cpus(4).millis(5).task(hog("a"));
    base.clone().survives();
    let run = with_timeline(base, [offline(0, [1])])
        .ends(ExitKind::UnregKern, "expected hotplug seq 3 did not match actual 4");
    assert_eq!(run.outcome.code, RESTART);
    assert_eq!(run.global("init").len(), 1, "after ops.init");
}

#[test]
fn the_running_task_is_pushed_to_another_cpu() {
    let base = with("hotplug").cpus(2).set("slice_ns", 1_000_000_000u64).millis(20);
    let run = with_timeline(base.task(hog("a").on([1])), [at(3000, confine(0, [0, 1])), offline(5000, [1])])
        .survives();
    let after: Vec<_> = run.of("a").filter(|c| c.at.as_ns() >= 5_000_000).collect();
    let trace: Vec<&str> = after.iter().map(|c| c.op.as_str()).filter(|op| STATES.contains(op)).collect();
    assert_eq!(trace[..4], ["stopping", "enqueue", "dequeue", "running"], "{}", run.log());
    assert_eq!(after.iter().find(|c| c.op == "stopping").unwrap().value, 1, "it stays runnable");
    let (when, cpu) = *run.starts("a").last().unwrap();
    assert!(near(when, 5000, 100) && cpu.0 == 0);
    nobody_is_on_a_cpu_that_is_off(&run);
}

/// `a` waits for CPU 1, held by the scheduler, when CPU 1 goes offline.
fn waits_where_it_goes(dsq: &str) -> Run {
    let base = with("hotplug").cpus(2).set("slice_ns", 1_000_000_000u64).set("enqueue_dsq", dsq);
    let base = base.set("dispatch_only_on", 5).set("only_pid", 3).millis(20);
    let base = base.task(hog("x").on([1])).task(hog("a").on([1]).after_ms(2));
    with_timeline(base, [at(3000, confine(1, [0, 1])), offline(5000, [1])]).run()
}

#[test]
fn tasks_in_its_queues_go_to_its_local_queue_first() {
    for dsq in ["0", "1"] {
        let run = waits_where_it_goes(dsq);
        let after: Vec<String> = run
            .of("a")
            .filter(|c| c.at.as_ns() >= 5_000_000 && STATES.contains(&c.op.as_str()))
            .map(|c| format!("{}={:x}", c.op, c.value))
            .collect();
        let names: Vec<&str> = after.iter().map(|l| l.split('=').next().unwrap()).collect();
        // ops.enqueue is not called, because the CPU is already offline. The task runs there only to be pushed away.
        assert_eq!(
            names[..6],
            ["dequeue", "quiescent", "runnable", "running", "stopping", "enqueue"],
            "{dsq}: {}",
            run.log()
        );
        assert_eq!(after[..3], ["dequeue=20000000e", "quiescent=20000000e", "runnable=e"]);
        let reported = run.calls.iter().position(|c| c.op == "cpu_offline").unwrap();
        let moved = run.calls.iter().position(|c| c.op == "runnable" && c.value == 0xe).unwrap();
        assert!(moved < reported, "before ops.cpu_offline");
        nobody_is_on_a_cpu_that_is_off(&run);
    }
}

#[test]
fn a_task_without_an_allowed_cpu_may_use_all() {
    let base = with("hotplug").cpus(3).set("slice_ns", 1_000_000_000u64).millis(30);
    let base = base.task(hog("a").on([1])).task(task("b", [run(100), sleep(8000), run(100)]).on([1]));
    let run = with_timeline(base, [offline(5000, [1]), online(20_000, [1])]).survives();
    for name in ["a", "b"] {
        assert_eq!(run.values(name, "set_cpumask"), [0b111], "{name}: {}", run.log());
    }
    let order: Vec<_> = run.trace("a", STATES);
    assert!(order.windows(2).any(|w| w == ["quiescent=20000000a", "runnable=a"]), "{order:?}");
    nobody_is_on_a_cpu_that_is_off(&run);
    assert!(run.misplaced().is_empty(), "{:?}", run.misplaced());
}

#[test]
fn an_insert_into_the_local_queue_of_a_cpu_that_is_off_goes_to_the_global_one() {
    let base = with("hotplug").cpus(3).set("slice_ns", 1_000_000).set("enqueue_dsq", local_on(2)).millis(20);
    let base = base.task(hog("a").instances(2));
    let run = with_timeline(base, [offline(5000, [2])]).survives();
    let late: Vec<u64> = run.events_of(|e| match e.what {
        What::Queued { dsq, .. } if e.at.as_ns() > 6_000_000 => Some(dsq.0),
        _ => None,
    });
    assert!(late.contains(&0x8000_0000_0000_0001), "{late:x?}");
    assert!(!late.contains(&0xc000_0000_0000_0002));
    nobody_is_on_a_cpu_that_is_off(&run);
}

#[test]
fn kicks_to_it_are_lost() {
    let base = with("hotplug").cpus(2).set("slice_ns", 1_000_000).set("enqueue_kicks", 1).millis(60);
    let base = base.task(hog("a").instances(2));
    let run = with_timeline(base, [offline(5000, [1])]).survives();
    let kicks = run.events_of(|e| match e.what {
        What::Kick { target, .. } if target.0 == 1 => Some(e.at.as_ns()),
        _ => None,
    });
    let off = run.events_of(|e| matches!(e.what, What::Online { .. }).then_some(e.at.as_ns()))[0];
    assert!(kicks.iter().any(|&at| at < off) && kicks.iter().all(|&at| at <= off));
    assert!(
        run.calls.iter().any(|c| c.op == "enqueue" && c.at.as_ns() > off),
        "it went on kicking: {}",
        run.log()
    );
}

#[test]
fn it_stops_ticking_and_dispatching_and_begins_again() {
    let base = with("hotplug").cpus(2).set("slice_ns", 1_000_000).millis(40).task(hog("a").instances(4));
    let run = with_timeline(base, [offline(10_000, [1]), online(30_000, [1])]).survives();
    let (off, on) = {
        let at = run.events_of(|e| matches!(e.what, What::Online { .. }).then_some(e.at));
        (at[0], at[1])
    };
    let on_it = |op: &'static str| run.calls.iter().filter(move |c| c.op == op && c.cpu == 1);
    for op in ["tick", "dispatch", "update_idle"] {
        assert!(!on_it(op).any(|c| off < c.at && c.at < on), "{op}");
        let comes_back = op == "update_idle" || on_it(op).any(|c| c.at > on);
        assert!(comes_back && on_it(op).any(|c| c.at < off), "{op}");
    }
    // No dispatch either, from the start to the end of going offline.
    let began = run.global("cpu_offline")[0].at;
    assert!(!on_it("dispatch").any(|c| began < c.at && c.at < off));
    nobody_is_on_a_cpu_that_is_off(&run);
}

#[test]
fn sleepers_on_it_wake_up_elsewhere() {
    let base = with("hotplug").cpus(2).millis(30);
    let base = base.task(task("a", [run(100), sleep(8000), run(1000)]).on([1]));
    let run = with_timeline(base, [at(3000, confine(0, [0, 1])), offline(5000, [1])]).survives();
    assert_eq!(run.first("a", "select_cpu").value & 8, 8);
    let (when, cpu) = *run.starts("a").last().unwrap();
    assert!(near(when, 8100, 300) && cpu.0 == 0, "{when:?}");
}

#[test]
fn a_mask_of_cpus_that_are_off_is_refused() {
    let base = with("hotplug").cpus(3).millis(20).task(repeat("a", [run(100), affinity([1]), sleep(500)]));
    let run = with_timeline(base, [offline(0, [1]), at(5000, confine(0, [1]))]).survives();
    assert_eq!(run.count("a", "set_cpumask"), 0);
    assert!(run.count("a", "running") > 10);
}

/// All CPUs but the first come and go, each after its own period of `scale` or so, in microseconds.
fn churn(cpus: u32, scale: u64) -> Run {
    let base = with("hotplug").cpus(cpus).set("slice_ns", 500_000).millis(60);
    let base = base
        .task(repeat("a", [run_up_to(scale), sleep(scale)]).instances(3 * cpus))
        .task(hog("b").instances(cpus));
    let pair = |cpu: u32| {
        let period_us = scale + scale * u64::from(cpu) / 5;
        let again = |us, change| Happening { every: Some(Span::from_us(period_us)), ..at(us, change) };
        [again(400, Change::Offline(set([cpu]))), again(400 + period_us / 2, Change::Online(set([cpu])))]
    };
    with_timeline(base, (1..cpus).flat_map(pair))
        .workload(|w| w.timeline.push(every(scale * 7 / 5, confine(1, [cpus - 1]))))
        .survives()
}

#[test]
fn no_task_is_lost_while_cpus_come_and_go() {
    for (cpus, scale) in [(2, 700), (8, 700), (8, 40)] {
        let run = churn(cpus, scale);
        assert!(reported(&run).len() > 60, "{}", reported(&run).len());
        nobody_is_on_a_cpu_that_is_off(&run);
        all_ran_where_they_may(&run);
        for task in run.ids("a") {
            let last = run.starts_of(task).last().map_or(0, |(at, _)| at.as_ns());
            assert!(last > 40_000_000, "{task:?} ran last at {last} ns");
        }
    }
}
