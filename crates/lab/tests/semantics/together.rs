//! Combined rules: real-time tasks, migration-disabled sections, cgroups, and changes to tasks and CPUs from outside.

use crate::harness::*;
use crate::outside::{at, confine, every};
use keel_abi::CpuId;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, CgroupStep};
use keel_abi::task::{Policy, Step};
use keel_abi::timeline::{Change, Happening};
use keel_trace::What;

use Step::{MigrateDisable, MigrateEnable};

const A: CgroupId = CgroupId(1);
/// From the root to the first cgroup.
const TO_A: &str = "100000041";

const ALL: &[&str] = &[
    "select_cpu",
    "enqueue",
    "dequeue",
    "runnable",
    "running",
    "stopping",
    "quiescent",
    "enable",
    "disable",
    "set_weight",
    "set_cpumask",
    "init_task",
    "exit_task",
    "cgroup_prep_move",
    "cgroup_move",
];

/// A scheduler with every callback, on this many CPUs, with one cgroup.
fn scene(cpus: u32) -> Scenario {
    let cgroup = Cgroup {
        path: "/a".to_owned(),
        parent: CgroupId::ROOT,
        is_there: true,
        weight: 100,
        bandwidth: Bandwidth::default(),
        idle: false,
    };
    let base = with("together").cpus(cpus).set("slice_ns", 1_000_000_000u64).millis(40);
    base.workload(|workload| workload.cgroups = vec![cgroup])
}

fn happens(scenario: Scenario, what: impl IntoIterator<Item = Happening>) -> Scenario {
    scenario.workload(|workload| workload.timeline.extend(what))
}

fn goes(us: u64, cpu: u32) -> Happening {
    at(us, Change::Offline(set([cpu])))
}

fn rt(spec: Spec, priority: u8) -> Spec {
    spec.policy(Policy::Fifo(priority))
}

fn join() -> Step {
    Step::Cgroup(CgroupStep::Join(A))
}

/// The task's callbacks from `us` on, without their remaining slices.
fn after(run: &Run, name: &str, us: u64) -> Vec<String> {
    let shown = |c: &Call| match c.op.as_str() {
        "running" => c.op.clone(),
        _ if c.value == 0 => c.op.clone(),
        _ => format!("{}={:x}", c.op, c.value),
    };
    let late = run.of(name).filter(|c| c.at.as_ns() >= us * 1000 && ALL.contains(&c.op.as_str()));
    late.map(shown).collect()
}

/// Where a task got a CPU from `us` on.
fn cpus_after(run: &Run, name: &str, us: u64) -> Vec<u32> {
    let late = run.starts(name).into_iter().filter(|(at, _)| at.as_ns() >= us * 1000);
    late.map(|(_, cpu)| cpu.0).collect()
}

/// When a CPU went off, in microseconds.
fn off_us(run: &Run, cpu: u32) -> u64 {
    let off = run.events_of(|e| match e.what {
        What::Online { target, up: false } if target == CpuId(cpu) => Some(e.at.as_ns() / 1000),
        _ => None,
    });
    *off.first().unwrap_or_else(|| panic!("CPU {cpu} never goes: {}", run.log()))
}

#[test]
fn real_time_tasks_leave_a_cpu_that_goes_without_callbacks() {
    // On CPU 2, one task runs and one waits. Another one sleeps.
    let runs = rt(task("runs", [run(20_000)]).on([2]), 50);
    let waits = rt(task("waits", [run(5000)]).on([2]), 40).after_ms(1);
    let sleeps = rt(task("sleeps", [run(100), sleep(8000), run(1000)]).on([2]), 60);
    let base = scene(3).task(runs).task(waits).task(sleeps).task(hog("x").on([2]).after_ms(2));
    let run = happens(base, [goes(5000, 2)]).survives();
    for name in ["runs", "waits", "sleeps"] {
        assert_eq!(after(&run, name, 1500), ["exit_task"], "{}", run.log());
        let cpus = cpus_after(&run, name, 5000);
        assert!(cpus.last().is_some_and(|&cpu| cpu != 2), "{name}: {cpus:?}");
    }
    assert!(off_us(&run, 2) < 5300, "{}", run.log());
    // A task below them that waited for the scheduler's decision goes to its local queue, then away; all CPUs are its
    // now.
    let x = after(&run, "x", 5000);
    let expected = [
        ["dequeue=20000000e", "quiescent=20000000e", "runnable=e", "running", "stopping=1"],
        ["quiescent=20000000a", "set_cpumask=7", "runnable=a", "enqueue", "dequeue"],
    ];
    assert_eq!(x[..10], expected.concat(), "{}", run.log());
    assert!(run.misplaced().is_empty());
}

#[test]
fn a_cpu_that_was_taken_is_given_back_before_it_goes() {
    let base = scene(2).task(hog("x").on([1])).task(rt(task("rt", [run(10_000)]).on([1]), 9).after_ms(2));
    let run = happens(base, [goes(5000, 1), at(20_000, Change::Online(set([1])))]).survives();
    let reported: Vec<_> = run
        .calls
        .iter()
        .filter(|c| ["cpu_release", "cpu_acquire", "cpu_offline", "cpu_online"].contains(&c.op.as_str()))
        .map(|c| (c.op.as_str(), c.cpu))
        .collect();
    // The scheduler gets the CPU once more, if only to push the preempted task away.
    assert_eq!(
        reported,
        [("cpu_release", 1), ("cpu_offline", 1), ("cpu_acquire", 1), ("cpu_online", 1),],
        "{}",
        run.log()
    );
}

#[test]
fn the_server_of_a_cpu_that_was_away_serves_again() {
    // Armed when the CPU goes offline, and needed again when it is back.
    let endless = rt(repeat("rt", [run(1_000_000)]).on([1]), 9);
    let x = repeat("x", [run(1_000_000)]).on([1]);
    let base = scene(2).millis(3000).task(x).task(endless);
    let back =
        [at(600_000, Change::Online(set([1]))), at(610_000, confine(0, [1])), at(610_000, confine(1, [1]))];
    let run = happens(base, [goes(500_000, 1)].into_iter().chain(back)).survives();
    let served = run.starts("x").into_iter().filter(|(at, cpu)| cpu.0 == 1 && at.as_ns() > 700_000_000);
    let served: Vec<_> = served.map(|(at, _)| at.as_ns() / 1_000_000).collect();
    assert!(served.first().is_some_and(|ms| (1555..1570).contains(ms)), "{served:?}");
}

#[test]
fn nice_and_mask_of_a_real_time_task_are_set_when_it_joins_the_scheduler() {
    let back = [Step::Policy(Policy::Other), run(1000)];
    let with_end = |steps: &[Step]| steps.iter().cloned().chain(back.clone()).collect::<Vec<_>>();
    let runs = rt(task("runs", with_end(&[run(10_000)])).on([1]), 6);
    let waits = rt(task("waits", with_end(&[run(10_000)])).on([1]), 5).after_ms(1);
    let sleeps = rt(task("sleeps", with_end(&[sleep(9000)])).on([1]), 7);
    let base = scene(3).task(runs).task(waits).task(sleeps).millis(60);
    let renice = |spec| at(4000, Change::Nice { spec, nice: 5 });
    let change = (0..3).flat_map(|spec| [renice(spec), at(5000, confine(spec, [2]))]);
    let run = happens(base, change.collect::<Vec<_>>()).survives();
    for name in ["runs", "waits", "sleeps"] {
        let reported = after(&run, name, 1100);
        let expected = ["enable=21", "set_weight=21", "set_cpumask=4", "runnable=1004e", "running"];
        assert_eq!(reported[..5], expected, "{name} {}", run.log());
        assert!(cpus_after(&run, name, 5000).iter().all(|&cpu| cpu == 2), "{name}");
    }
    let (when, cpu) = run.starts("runs")[1];
    assert!(near(when, 5000, 300) && cpu == CpuId(2), "the stopper pushes it at once: {when:?}");
    assert!(run.misplaced().is_empty());
}

/// Works in a migration-disabled section from 1 ms to 11 ms.
fn works() -> Spec {
    task("a", [run(1000), MigrateDisable, run(10_000), MigrateEnable, run(3000)])
}

/// Around the change of its mask a running task is taken off the runqueue.
fn around(mask: &str) -> [String; 5] {
    ["stopping", "quiescent=20000000a", mask, "runnable=a", "running"].map(str::to_owned)
}

#[test]
fn a_cpu_that_goes_waits_for_the_end_of_a_spell() {
    let run = happens(scene(2).task(works().on([1])), [goes(5000, 1)]).survives();
    let reported = after(&run, "a", 5000);
    // The first switch makes its CPU its mask; the spell's end gives its own back. Then it is scheduled when its slice
    // is over.
    assert_eq!(reported[..5], around("set_cpumask=2"), "{}", run.log());
    assert_eq!(reported[5..10], around("set_cpumask=2"), "{}", run.log());
    assert_eq!(run.global("cpu_offline").len(), 1);
    assert!(off_us(&run, 1) > 11_000, "{}", off_us(&run, 1));
}

#[test]
fn a_real_time_task_keeps_its_cpu_from_going_as_well() {
    let b = rt(task("b", [run(100)]).on([1]), 9).after_ms(12);
    let run = happens(scene(2).task(rt(works().on([1]), 5)).task(b), [goes(5000, 1)]).survives();
    assert_eq!(after(&run, "a", 1000), ["exit_task"], "{}", run.log());
    assert!(off_us(&run, 1) > 11_000, "{}", off_us(&run, 1));
    assert_eq!(cpus_after(&run, "b", 0), [0], "newcomers go elsewhere");
}

#[test]
fn a_sleeper_within_a_spell_comes_back_to_the_cpu_that_waits_for_it() {
    let a = task("a", [run(1000), MigrateDisable, sleep(10_000), run(100), MigrateEnable, run(3000)]);
    let run = happens(scene(2).task(a.on([1])).task(hog("x").on([0])), [goes(5000, 1)]).survives();
    assert_eq!(cpus_after(&run, "a", 5000)[0], 1, "{}", run.log());
    let reported = after(&run, "a", 5000);
    assert_eq!(reported[..2], ["runnable=1", "running"], "straight to the local queue: {}", run.log());
    assert_eq!(reported[2..7], around("set_cpumask=2"), "{}", run.log());
    assert!(off_us(&run, 1) > 11_100, "{}", off_us(&run, 1));
}

#[test]
fn a_mask_that_changes_during_a_spell_counts_at_its_end() {
    let run = happens(scene(3).task(works().on([1])), [at(5000, confine(0, [2]))]).survives();
    let reported = after(&run, "a", 5000);
    // It gets the new mask. Then the stopper runs, and the switch to it pins the task.
    assert_eq!(reported[..5], around("set_cpumask=4"), "{}", run.log());
    assert_eq!(reported[5..10], around("set_cpumask=2"), "{}", run.log());
    assert_eq!(reported[10..15], around("set_cpumask=4"), "{}", run.log());
    assert_eq!(reported[15..18], ["stopping=1", "enqueue", "dequeue"], "{}", run.log());
    assert_eq!(cpus_after(&run, "a", 5000), [2]);
    assert!(near(run.starts("a")[1].0, 11_000, 300));
}

#[test]
fn a_sleeper_with_migration_disabled_keeps_its_cpu_though_its_mask_changes() {
    let a = task("a", [run(1000), MigrateDisable, sleep(10_000), run(100), MigrateEnable, run(3000)]);
    let run = happens(scene(3).task(a.on([1])), [at(5000, confine(0, [2]))]).survives();
    let reported = after(&run, "a", 5000);
    assert_eq!(reported[..3], ["set_cpumask=2", "runnable=1", "running"], "{}", run.log());
    assert_eq!(reported[3..8], around("set_cpumask=4"), "{}", run.log());
    assert_eq!(cpus_after(&run, "a", 5000), [1, 2]);
}

#[test]
fn a_real_time_task_moves_between_cgroups_off_the_schedulers_runqueue() {
    let a = rt(task("a", [run(1000), join(), run(1000), Step::Policy(Policy::Other), run(100)]), 5);
    let b = rt(task("b", [run(1000)]), 5).after_ms(0);
    let run = scene(1).task(a).task(b).survives();
    let reported = after(&run, "a", 0);
    let prep = format!("cgroup_prep_move={TO_A}");
    let moved = format!("cgroup_move={TO_A}");
    let expected = [
        "init_task=1",
        &prep,
        &moved,
        "enable=64",
        "set_weight=64",
        "set_cpumask=1",
        "runnable=1004e",
        "running",
    ];
    assert_eq!(reported[..8], expected, "{}", run.log());
    // It has gone behind its equals.
    assert!(near(run.starts("b")[0].0, 1000, 300), "{:?}", run.starts("b"));
    let (group, from) = (run.values("a", "group"), 1u64 << 32 | 0x41);
    assert_eq!(group[0], 0x41 << 32 | 0x41, "{group:x?}");
    assert!(!group.contains(&from));
}

#[test]
fn a_task_moves_within_its_spell_and_stays_on_its_cpu() {
    let steps = [run(1000), MigrateDisable, join(), run(1000), Step::Policy(Policy::Fifo(3)), run(1000)];
    let end = [Step::Policy(Policy::Other), run(1000), MigrateEnable, run(100)];
    let run = scene(2).task(task("a", steps.into_iter().chain(end)).on([1])).survives();
    let reported = after(&run, "a", 900);
    let first = reported.iter().position(|line| line.starts_with("cgroup_prep_move")).expect("it moves");
    let moved = format!("cgroup_move={TO_A}");
    let expected = ["stopping", "quiescent=20000000e", &moved, "runnable=e", "running"];
    assert_eq!(reported[first + 1..first + 6], expected, "{}", run.log());
    // The move triggers scheduling, which pins it.
    assert_eq!(reported[first + 6..first + 11], around("set_cpumask=2"), "{}", run.log());
    let expected = ["stopping", "quiescent=20000004e", "disable"];
    assert_eq!(reported[first + 11..first + 14], expected, "{}", run.log());
    let expected = ["enable=64", "set_weight=64", "set_cpumask=2", "runnable=1004e", "running"];
    assert_eq!(
        reported[first + 14..first + 19],
        expected,
        "back within its spell it has one CPU: {}",
        run.log()
    );
    assert_eq!(reported[first + 19..first + 24], around("set_cpumask=2"), "{}", run.log());
    assert!(run.starts("a").iter().all(|(_, cpu)| cpu.0 == 1));
}

#[test]
fn a_task_being_woken_or_pushed_moves_between_cgroups_afterwards() {
    let all = |id| Step::Cgroup(CgroupStep::JoinProcess(id));
    let moves = repeat("moves", [all(A), run(3), all(CgroupId::ROOT), run(3)]).on([0]);
    let base = scene(3).task(moves).task(hog("runs").on([1])).task(hog("waits").on([1]));
    let base = base.task(repeat("wakes", [run(7), sleep(7)]).on([1, 2]));
    let to = |spec, cpu, us| every(us, confine(spec, [cpu]));
    let run = happens(base, [to(1, 1, 97), to(1, 2, 61), to(2, 1, 101), to(2, 2, 67)]).survives();
    for name in ["runs", "waits", "wakes"] {
        // The log is full after half a millisecond.
        assert!(run.count(name, "cgroup_move") > 20, "{name}: {}", run.count(name, "cgroup_move"));
        assert!(run.starts(name).last().is_some_and(|(at, _)| at.as_ns() > 39_000_000), "{name}");
    }
    assert!(run.misplaced().is_empty());
}

#[test]
fn inserts_for_a_cpu_that_is_off_go_to_the_global_queue() {
    // SCX_ENQ_IMMED, which only local queues know.
    let base =
        scene(2).set("enqueue_dsq", local_on(1)).set("enqueue_flags", 1u64 << 33).set("select_this", 0);
    let run = happens(base.task(repeat("a", [run(500), sleep(500)])), [goes(5000, 1)]).survives();
    let queues = run.events_of(|e| match e.what {
        What::Queued { dsq, .. } if e.at.as_ns() > 6_000_000 => Some(dsq.0),
        _ => None,
    });
    // From there CPU 0 takes it into its local queue.
    let (global, local) = (0x8000_0000_0000_0001, 0xc000_0000_0000_0000u64);
    assert!(queues.len() > 20 && queues.chunks_exact(2).all(|pair| pair == [global, local]), "{queues:x?}");
}

#[test]
fn a_kick_wait_for_a_cpu_that_goes_offline_ends() {
    // SCX_KICK_PREEMPT | SCX_KICK_WAIT.
    let base = scene(3).set("enqueue_kicks", 2).set("kick_flags", 6).set("release_reenqueues", 1);
    let base =
        base.task(repeat("a", [run(50), sleep(50)]).on([0])).task(repeat("b", [run(70), sleep(20)]).on([1]));
    let base = base.task(hog("x").on([2])).task(rt(repeat("rt", [run(30), sleep(200)]).on([2]), 3));
    let changes = (1..15).flat_map(|ms| {
        [
            goes(2000 * ms, 2),
            at(2000 * ms + 900, Change::Online(set([2]))),
            at(2000 * ms + 950, confine(2, [2])),
            at(2000 * ms + 950, confine(3, [2])),
        ]
    });
    let run = happens(base, changes.collect::<Vec<_>>()).survives();
    for name in ["a", "b", "rt"] {
        let last = run.starts(name).last().expect("it runs").0;
        assert!(last.as_ns() > 39_000_000, "{name}: {last:?}");
    }
    assert_eq!(run.global("cpu_offline").len(), 14);
}

#[test]
fn performance_of_a_cpu_that_is_off_can_be_set() {
    let base = with("frequency").cpus(2).set("early_target", 300).millis(20);
    happens(base.task(repeat("a", [run(500), sleep(500)])), [goes(0, 1)]).survives();
}
