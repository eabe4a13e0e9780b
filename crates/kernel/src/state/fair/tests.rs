//! Tests the fairness of one queue. The tests run its tasks themselves.

use super::*;
use crate::state::fair::weight::weight_of;
use keel_abi::TaskId;
use keel_abi::task::Policy;
use proptest::prelude::*;

const SLICE_NS: u64 = 2_800_000;
const TICK_NS: u64 = 1_000_000;

fn id(task: u32) -> EntityId {
    EntityId::from(TaskId(task))
}

/// A queue with tasks that never sleep, checked at every tick.
struct Bench {
    queue: FairQueue,
    entities: Entities,
    got_ns: Vec<u64>,
}

impl Bench {
    fn new(weights: &[i64]) -> Self {
        let tasks = weights.len();
        let mut bench =
            Self { queue: FairQueue::default(), entities: Entities::default(), got_ns: vec![0; tasks] };
        for (number, &weight) in weights.iter().enumerate() {
            bench.join(number as u32, weight, SLICE_NS, Joins::New);
        }
        bench
    }

    fn join(&mut self, task: u32, weight: i64, slice_ns: u64, joins: Joins) {
        let share = Share { weight, slice_ns, is_idle: false };
        self.entities.task(TaskId(task));
        self.queue.join(&mut self.entities, id(task), share, joins);
    }

    /// Adds a task with this slice.
    fn join_new(&mut self, slice_ns: u64) {
        let task = self.got_ns.len() as u32;
        self.got_ns.push(0);
        self.join(task, 1024, slice_ns, Joins::New);
    }

    fn leave(&mut self, task: u32, slept: bool) {
        self.queue.leave(&mut self.entities, id(task), slept, TICK_NS);
    }

    /// Runs the queue: a task keeps the CPU until its protection ends, and then the next one runs.
    fn run(&mut self, ticks: u64) {
        self.run_for(ticks, TICK_NS);
    }

    fn run_for(&mut self, times: u64, ns: u64) {
        for _ in 0..times {
            let keeps = |task: &EntityId| self.entities[*task].is_protected();
            let task = match self.queue.curr().filter(keeps) {
                Some(task) if self.entities[task].on_rq => task,
                _ => self.next(),
            };
            self.queue.charge(&mut self.entities, task, ns);
            self.got_ns[task.task().expect("it is a task").index()] += ns;
        }
    }

    fn next(&mut self) -> EntityId {
        let next = self.queue.pick(&self.entities, Pick::Protecting).expect("somebody is always eligible");
        if self.queue.curr() != Some(next) {
            self.queue.put_prev(&mut self.entities);
            self.queue.set_next(&mut self.entities, next);
        }
        next
    }

    fn of(&self, task: u32) -> &Entity {
        &self.entities[id(task)]
    }

    fn lag(&self, task: u32) -> i64 {
        self.queue.time(&self.entities) - self.of(task).vruntime
    }
}

#[test]
fn time_goes_by_weight() {
    let mut bench = Bench::new(&[1024, 335]);
    bench.run(10_000);
    let ratio = bench.got_ns[0] as f64 / bench.got_ns[1] as f64;
    assert!((ratio - 1024.0 / 335.0).abs() < 0.01, "{ratio}");
}

#[test]
fn ten_nice_values_get_their_shares() {
    let nices = [-10, -5, -3, -1, 0, 1, 3, 5, 10, 15];
    let weights = nices.map(|nice| weight_of(Policy::Other, nice));
    let mut bench = Bench::new(&weights);
    let ticks = 100_000;
    bench.run(ticks);
    let all: i64 = weights.iter().sum();
    for (nice, (&got_ns, weight)) in nices.iter().zip(bench.got_ns.iter().zip(weights)) {
        let share_ns = ticks * TICK_NS * weight.unsigned_abs() / all.unsigned_abs();
        // A task's lag is never larger than a slice and a tick, in either direction.
        assert!(got_ns.abs_diff(share_ns) <= SLICE_NS + TICK_NS, "nice {nice}: {got_ns} of {share_ns}");
    }
}

#[test]
fn the_running_task_keeps_the_cpu_for_a_slice() {
    let mut bench = Bench::new(&[1024, 1024]);
    let mut runs = Vec::new();
    for _ in 0..30 {
        bench.run(1);
        runs.push(bench.queue.curr().expect("somebody runs"));
    }
    let lengths: Vec<usize> = runs.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    // Each task begins with half a slice.
    assert!(lengths[2..lengths.len() - 1].iter().all(|&ticks| ticks == 3), "{lengths:?}");
}

#[test]
fn a_shorter_slice_in_the_queue_shortens_protection() {
    let check = |slice_ns, expected| {
        let mut bench = Bench::new(&[1024]);
        bench.join_new(slice_ns);
        bench.queue.set_next(&mut bench.entities, id(0));
        assert_eq!(bench.of(0).protected - bench.of(0).vruntime, expected, "beside {slice_ns}");
    };
    // Initially half a slice.
    check(SLICE_NS, 1_400_000);
    check(700_000, 700_000);
    check(2_000_000, 1_400_000);
}

#[test]
fn a_waker_with_a_shorter_slice_tightens_protection() {
    let mut bench = Bench::new(&[1024]);
    bench.queue.set_next(&mut bench.entities, id(0));
    bench.join_new(500_000);
    bench.queue.tighten(&mut bench.entities, id(0));
    assert_eq!(bench.of(0).protected - bench.of(0).vruntime, 500_000);
}

#[test]
fn sleep_is_no_gain_and_no_loss() {
    // Task 0 has a positive lag when it leaves, and has the same lag when it returns, however long it was away.
    let mut bench = Bench::new(&[1024, 1024, 1024]);
    bench.run(7);
    let owed = bench.lag(0);
    bench.leave(0, true);
    bench.run(500);
    bench.join(0, 1024, SLICE_NS, Joins::Restart);
    let owed_now = bench.lag(0);
    assert!(owed != 0 && owed_now.abs_diff(owed) <= 2, "{owed} {owed_now}");
}

#[test]
fn what_a_sleeper_is_owed_has_a_bound() {
    let mut bench = Bench::new(&[1024, 88_761]);
    bench.run(3);
    bench.entities[id(0)].vruntime -= 1_000_000_000;
    bench.queue.weighted -= 1024 * 1_000_000_000;
    bench.leave(0, true);
    assert_eq!(bench.of(0).lag, (SLICE_NS + TICK_NS) as i64);
}

#[test]
fn a_migrated_task_keeps_the_rest_of_its_slice() {
    let mut bench = Bench::new(&[1024, 1024]);
    bench.run(1);
    let first = bench.queue.curr().expect("somebody runs").task().expect("it is a task").0;
    bench.queue.put_prev(&mut bench.entities);
    let left = bench.of(first).deadline - bench.of(first).vruntime;
    bench.leave(first, false);
    bench.join(first, 1024, SLICE_NS, Joins::Restart);
    assert_eq!(bench.of(first).deadline - bench.of(first).vruntime, left);
}

#[test]
fn a_task_that_yields_is_not_picked_next() {
    let mut bench = Bench::new(&[1024, 1024]);
    bench.run(1);
    let running = bench.queue.curr().expect("somebody runs");
    bench.entities[running].unprotect();
    bench.queue.give_way(&mut bench.entities, running);
    assert_ne!(bench.queue.pick(&bench.entities, Pick::Protecting), Some(running));
}

#[test]
fn a_task_with_negative_lag_stays_queued_when_it_sleeps() {
    let mut bench = Bench::new(&[1024, 1024]);
    bench.run(1);
    let (sleeper, other) = (id(0), id(1));
    assert_eq!(bench.queue.curr(), Some(sleeper));
    assert!(!bench.queue.try_delay(&mut bench.entities, other, TICK_NS), "it is owed something");
    assert!(bench.queue.try_delay(&mut bench.entities, sleeper, TICK_NS));
    assert_eq!((bench.queue.entities(), bench.of(0).delayed), (2, true));
    let owes = bench.of(0).lag;
    assert!(owes < 0);
    // The other task runs, and the sleeper's negative lag shrinks. When the sleeper is picked, its lag is 0.
    let picked = loop {
        bench.queue.put_prev(&mut bench.entities);
        match bench.queue.pick(&bench.entities, Pick::Plain).expect("both are queued") {
            task if task == sleeper => break task,
            task => bench.queue.set_next(&mut bench.entities, task),
        }
        bench.queue.charge(&mut bench.entities, other, TICK_NS / 4);
    };
    bench.queue.leave(&mut bench.entities, picked, true, TICK_NS);
    assert_eq!((bench.of(0).lag, bench.queue.entities()), (0, 1));
}

#[test]
fn a_delayed_task_that_wakes_keeps_its_remaining_lag() {
    let mut bench = Bench::new(&[1024, 1024]);
    bench.run(2);
    assert!(bench.queue.try_delay(&mut bench.entities, id(0), TICK_NS));
    let owed = bench.of(0).lag;
    bench.queue.put_prev(&mut bench.entities);
    bench.queue.set_next(&mut bench.entities, id(1));
    bench.queue.charge(&mut bench.entities, id(1), TICK_NS / 2);
    bench.queue.requeue_delayed(&mut bench.entities, id(0), TICK_NS);
    assert!(!bench.of(0).delayed);
    assert!(owed < bench.of(0).lag && bench.of(0).lag < 0, "{owed} {}", bench.of(0).lag);
}

#[test]
fn the_one_that_came_first_is_first_among_equals() {
    let mut bench = Bench::new(&[1024, 1024, 1024]);
    assert_eq!(bench.next(), id(0));
    bench.queue.put_prev(&mut bench.entities);
    assert_eq!(bench.next(), id(1), "task 0 has come again, behind its equals");
}

proptest! {
    /// A task that is always runnable gets at most two slices less than its share.
    #[test]
    fn no_task_starves(nices in prop::collection::vec(-20i8..20, 1..12), ticks in 1u64..5000) {
        let weights: Vec<i64> = nices.iter().map(|&nice| weight_of(Policy::Other, nice)).collect();
        let mut bench = Bench::new(&weights);
        bench.run(ticks);
        let all: i64 = weights.iter().sum();
        for (&got, &weight) in bench.got_ns.iter().zip(&weights) {
            let share = (u128::from(ticks * TICK_NS) * weight as u128 / all as u128) as u64;
            prop_assert!(got + 2 * SLICE_NS + TICK_NS >= share, "{got} of {share}");
        }
    }

    /// In a fixed set of tasks, no task's lag exceeds a slice and a tick of its own time
    /// (`-r_max < lag < max(r_max, q)`).
    #[test]
    fn lag_has_bounds(nices in prop::collection::vec(-20i8..20, 2..10), ticks in 1u64..300) {
        let weights: Vec<i64> = nices.iter().map(|&nice| weight_of(Policy::Other, nice)).collect();
        let mut bench = Bench::new(&weights);
        for _ in 0..ticks {
            bench.run(1);
            for task in 0..weights.len() as u32 {
                let most = bench.of(task).scaled(SLICE_NS + TICK_NS);
                prop_assert!(bench.lag(task).abs() <= most, "{} of {most}", bench.lag(task));
            }
        }
    }

    /// The sums stay correct, whichever tasks come and go.
    #[test]
    fn sums_are_kept(moves in prop::collection::vec((0u32..6, 0u64..5), 1..200)) {
        let mut bench = Bench::new(&[1024]);
        bench.entities.task(TaskId(5));
        bench.got_ns.resize(6, 0);
        for (task, ticks) in moves {
            match *bench.of(task) {
                Entity { delayed: true, .. } => bench.queue.requeue_delayed(&mut bench.entities, id(task), TICK_NS),
                Entity { on_rq: true, .. } if ticks == 3 => {
                    bench.queue.try_delay(&mut bench.entities, id(task), TICK_NS);
                }
                Entity { on_rq: true, .. } => bench.leave(task, ticks % 2 == 0),
                _ => bench.join(task, 15 + i64::from(task) * 500, SLICE_NS + u64::from(task), Joins::Restart),
            }
            if bench.queue.entities() > 0 {
                bench.run(ticks);
            }
            let queued = || (0..6).map(|task| bench.of(task)).filter(|e| e.on_rq);
            let (weight, weighted) = bench.queue.sums(&bench.entities);
            prop_assert_eq!(weight, queued().map(|e| e.weight).sum::<i64>());
            prop_assert_eq!(weighted, queued().map(product).sum::<i128>());
            prop_assert_eq!(bench.queue.entities() as usize, queued().count());
            let shortest = queued().map(|e| e.slice_ns).min().unwrap_or(u64::MAX);
            prop_assert_eq!(bench.queue.slices.shortest(), shortest);
        }
    }
}

/// `PICK_BUDDY`.
#[test]
fn a_preferred_entity_goes_on_while_it_is_eligible() {
    let mut bench = Bench::new(&[1024, 1024, 1024]);
    let next = |bench: &Bench, pick| bench.queue.pick(&bench.entities, pick);
    assert_eq!(next(&bench, Pick::Protecting), Some(id(0)));
    bench.queue.prefer(id(2));
    // A wakeup that preempts regardless of protection ignores it.
    assert_eq!([Pick::Protecting, Pick::Plain].map(|pick| next(&bench, pick)), [Some(id(2)), Some(id(0))]);
    bench.run(1);
    // It has now run for longer than the others.
    bench.queue.prefer(id(2));
    bench.queue.put_prev(&mut bench.entities);
    assert_eq!(next(&bench, Pick::Protecting), Some(id(0)));
    assert!(bench.queue.stop_preferring(id(2)) && !bench.queue.stop_preferring(id(2)));
}
