//! Push and pull: no real-time task waits, beyond the time that it takes to move it, while a CPU that it may use runs a
//! less urgent task.

use crate::harness::*;
use crate::parts::*;
use crate::watch::watched;
use keel_abi::task::{Policy, Step};
use keel_abi::timeline::{Change, Happening};
use keel_abi::{CpuId, Instant, Span};
use keel_lab::{Machine, machines};
use keel_trace::What;
use keel_trace::event::Why;

/// How long a move may take: interrupts, locks and switches of two CPUs.
const MOVE_NS: u64 = 30_000;

/// A machine with this many CPUs, whose kernel pulls like this.
fn pulling(cpus: u32, pull: &str) -> Machine {
    machine(cpus, &format!("pull = '{pull}'"))
}

/// Where the numbers of a seed begin.
fn state_of(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// Tasks that work and sleep by themselves; one in four may use one CPU only.
fn crowd(seed: u64, cpus: u64, pinned: bool) -> Vec<Spec> {
    let mut draw = draws(state_of(seed));
    let count = 2 + draw(3 * cpus);
    let one = |number| {
        let mut steps = Vec::new();
        for _ in 0..1 + draw(4) {
            steps.extend([run(20 + draw(3000)), sleep(10 + draw(4000))]);
            if draw(4) == 0 {
                steps.push(Step::Yield);
            }
        }
        let priority = 1 + draw(if seed.is_multiple_of(3) { 3 } else { 98 }) as u8;
        let policy = if draw(3) == 0 { Policy::RoundRobin(priority) } else { fifo(priority) };
        let task = repeat(&format!("t{number}"), steps).policy(policy);
        if pinned && draw(4) == 0 { task.on([draw(cpus) as u32]) } else { task }
    };
    (0..count).map(one).collect()
}

#[test]
fn no_task_waits_beside_a_less_urgent_one() {
    for pull in ["ask", "take"] {
        for seed in 1..=24 {
            let cpus = 1 + seed % 8;
            let base = with("tracer").on(pulling(cpus as u32, pull)).task(hog("x").instances(3)).millis(150);
            let seen = watched(base, crowd(seed, cpus, seed % 2 == 0));
            let (longest_ns, who) = seen.longest_wrong(cpus as usize);
            assert!(
                longest_ns < MOVE_NS,
                "{pull}, seed {seed}: {who} waits {longest_ns} ns beside less urgent"
            );
        }
    }
}

#[test]
fn a_task_that_wakes_beside_an_equal_goes_elsewhere_without_preempting() {
    // `a` has run on CPU 0 before; `b` of the same priority is there now, and CPU 1 has an ordinary task.
    let a = task("a", [run(100), sleep(2000), run(3000)]).policy(fifo(10)).on([0, 1]);
    let b = task("b", [affinity([0]), affinity([0, 1]), run(10_000)]).policy(fifo(10)).after_ms(1);
    let seen = with("tracer").cpus(2).task(a).task(b).task(hog("x").on([1])).millis(20).survives();
    let last = |name: &str| seen.starts(name).last().expect("it runs").1;
    assert_eq!((last("b"), last("a")), (CpuId(0), CpuId(1)));
    let preempted = seen.events_of(|e| match e.what {
        What::Switch { prev, why: Why::Preempted, .. } if prev == seen.id("b") && !near(e.at, 1000, 300) => {
            Some(e.at)
        }
        _ => None,
    });
    assert_eq!(preempted, [], "b goes on");
}

#[test]
fn an_equal_that_may_use_one_cpu_moves_the_one_that_may_use_more() {
    let free = task("free", [run(10_000)]).policy(fifo(10));
    let bound = task("bound", [run(1000)]).policy(fifo(10)).on([0]).after_ms(2);
    let mut free_first = free.clone();
    free_first.0.steps = vec![affinity([0]), affinity([0, 1]), run(10_000)];
    let seen = with("tracer").cpus(2).task(free_first).task(bound).millis(20).survives();
    assert_eq!(seen.starts("free").iter().map(|s| s.1.0).collect::<Vec<_>>().last(), Some(&1));
    assert!(near(seen.starts("bound")[0].0, 2000, 300), "{:?}", seen.starts("bound"));
    // If neither is possible, the newcomer waits.
    let both = |name: &str, ms| task(name, [run(5000)]).policy(fifo(10)).on([0]).after_ms(ms);
    let seen = with("tracer").cpus(2).task(both("free", 0)).task(both("bound", 2)).millis(20).survives();
    assert!(near(seen.starts("bound")[0].0, 5000, 300), "{:?}", seen.starts("bound"));
}

#[test]
fn a_push_stays_within_the_cache_where_it_can() {
    // Two caches of four CPUs: more urgent ones come to each CPU of `low`'s cache in turn.
    let text = "name = 'm'\n[topology]\nnodes = 1\nllcs_per_node = 2\ncores_per_llc = 4\n";
    let low = task("low", [affinity([5]), affinity(0..8), run(100_000)]).policy(fifo(10));
    let mut base = with("tracer").on(machines::read("m.toml", text).unwrap()).task(low);
    for number in 0..24 {
        let cpu = 4 + number * 3 % 4;
        base = base.task(task("high", [run(900)]).policy(fifo(20)).on([cpu]).after_ms(u64::from(3 + number)));
    }
    let seen = base.millis(40).survives();
    let low = seen.id("low");
    let moves = seen.events_of(|e| match e.what {
        What::Migrate { task, from, to } if task == low => Some((from.0, to.0)),
        _ => None,
    });
    let pushed: Vec<_> = moves.iter().skip_while(|(from, _)| *from != 5).collect();
    assert!(pushed.len() > 3 && pushed.iter().all(|(_, to)| (4..8).contains(to)), "{moves:?}");
}

#[test]
fn with_an_overload_elsewhere_a_task_that_drops_in_priority_gets_it() {
    // All of CPU 0 and 1 are taken by `high`s. `low` waits until one of them sleeps.
    for pull in ["ask", "take"] {
        let high = |name: &str, us| task(name, [run(us)]).policy(fifo(50));
        let low = task("low", [run(1000)]).policy(fifo(5)).after_ms(1);
        let base = with("tracer").on(pulling(2, pull)).task(hog("x").instances(2));
        let base = base.task(high("a", 10_000).on([0])).task(high("b", 4000).on([1]));
        let seen = watched(base.millis(20), [low]);
        let (at, cpu) = seen.run.starts("low")[0];
        assert!(near(at, 4000, 200) && cpu == CpuId(1), "{pull}: {at:?} {cpu:?}");
    }
}

/// The CPU on which `low` last runs when `a`, which has CPU 0, lowers its priority. `b` has taken CPU 1 from `low` long
/// before.
fn as_one_comes_down(scene: Scenario, a: Spec) -> (Instant, CpuId) {
    let low = task("low", [affinity([1]), affinity([0, 1]), run(3000)]).policy(fifo(5));
    let b = task("b", [run(30_000)]).policy(fifo(50)).on([1]).after_ms(1);
    let seen = scene.task(a.on([0])).task(low).task(b).millis(30).survives();
    *seen.starts("low").last().expect("it runs")
}

#[test]
fn a_task_of_lowered_priority_is_pulled_too() {
    let begins = Step::Policy(fifo(50));
    for pull in ["ask", "take"] {
        for end in [fifo(3), Policy::Other] {
            let base = || with("tracer").on(pulling(2, pull));
            let by_itself = task("a", [begins.clone(), run(4000), Step::Policy(end), run(20_000)]);
            let by_another = task("a", [begins.clone(), run(24_000)]);
            let change = Change::Policy { spec: 0, policy: end };
            let change =
                Happening { at: Span::from_us(4000), every: None, times: None, follows: false, change };
            let changed = base().workload(|w| w.timeline.push(change));
            for (at, cpu) in [as_one_comes_down(base(), by_itself), as_one_comes_down(changed, by_another)] {
                assert!(near(at, 4000, 300) && cpu == CpuId(0), "{pull} {end:?}: {at:?} {cpu:?}");
            }
        }
    }
}

#[test]
fn affinity_is_kept_by_every_move() {
    for seed in 1..=6 {
        let mut draw = draws(state_of(seed));
        let confine = |mut task: Spec| {
            let (a, b) = (draw(4) as u32, draw(4) as u32);
            task.0.steps.insert(0, affinity([a, b]));
            task
        };
        let tasks: Vec<_> = crowd(seed, 4, false).into_iter().map(confine).collect();
        let scene = |pull| with("tracer").on(pulling(4, pull)).millis(100);
        for pull in ["ask", "take"] {
            let seen = watched(scene(pull), tasks.clone());
            assert_eq!(seen.run.misplaced(), [], "{pull}, seed {seed}");
        }
    }
}
