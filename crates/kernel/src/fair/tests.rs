//! Fairness of one queue, its tasks run by hand.

use super::*;
use crate::fair::entity::weight_of;
use keel_abi::task::Policy;
use proptest::prelude::*;

const SLICE_NS: u64 = 2_800_000;
const TICK_NS: u64 = 1_000_000;

/// A queue with tasks that never sleep, ticked.
struct Bench {
    queue: FairQueue,
    entities: Vec<Entity>,
    got_ns: Vec<u64>,
    running: Option<TaskId>,
}

impl Bench {
    fn new(weights: &[i64]) -> Self {
        let mut bench = Self {
            queue: FairQueue::default(),
            entities: vec![Entity::default(); weights.len()],
            got_ns: vec![0; weights.len()],
            running: None,
        };
        for (number, &weight) in weights.iter().enumerate() {
            bench.join(number as u32, weight, Joins::New);
        }
        bench
    }

    fn join(&mut self, task: u32, weight: i64, joins: Joins) {
        let entity = &mut self.entities[task as usize];
        self.queue.join(TaskId(task), entity, weight, joins, SLICE_NS);
    }

    fn leave(&mut self, task: u32, slept: bool) {
        let entity = &mut self.entities[task as usize];
        self.queue.leave(TaskId(task), entity, slept, 2 * SLICE_NS);
        self.running = self.running.filter(|&running| running != TaskId(task));
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            // As at a tick: nobody is looked for while a slice lasts.
            let keeps = |task: &TaskId| {
                let entity = &self.entities[task.index()];
                entity.protected > entity.vruntime
            };
            let next = match self.running.filter(keeps) {
                Some(running) => running,
                None => self.queue.pick(&self.entities, self.running).expect("somebody is always eligible"),
            };
            if self.running != Some(next) {
                let entity = &mut self.entities[next.index()];
                entity.protected = entity.deadline;
            }
            self.running = Some(next);
            self.queue.ran(next, &mut self.entities[next.index()], TICK_NS, SLICE_NS);
            self.got_ns[next.index()] += TICK_NS;
        }
    }
}

#[test]
fn weights_are_the_kernels() {
    let check = |policy, nice, expected| assert_eq!(weight_of(policy, nice), expected);
    check(Policy::Other, 0, 1024);
    check(Policy::Batch, -20, 88_761);
    check(Policy::Ext, 19, 15);
    check(Policy::Idle, -20, 3);
}

#[test]
fn time_goes_by_weight() {
    let mut bench = Bench::new(&[1024, 335]);
    bench.run(10_000);
    let ratio = bench.got_ns[0] as f64 / bench.got_ns[1] as f64;
    assert!((ratio - 1024.0 / 335.0).abs() < 0.01, "{ratio}");
}

#[test]
fn whoever_runs_keeps_the_cpu_for_a_slice() {
    let mut bench = Bench::new(&[1024, 1024]);
    let mut runs = Vec::new();
    for _ in 0..30 {
        bench.run(1);
        runs.push(bench.running.expect("somebody runs"));
    }
    let lengths: Vec<usize> = runs.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    // Each begins with half a slice.
    assert!(lengths[2..lengths.len() - 1].iter().all(|&ticks| ticks == 3), "{lengths:?}");
}

#[test]
fn sleep_is_no_gain_and_no_loss() {
    // Task 0 is owed something when it leaves: the same when it comes again, however long it was away.
    let mut bench = Bench::new(&[1024, 1024, 1024]);
    bench.run(7);
    let owed = bench.queue.now() - bench.entities[0].vruntime;
    bench.leave(0, true);
    bench.run(500);
    bench.join(0, 1024, Joins::Restart);
    let owed_now = bench.queue.now() - bench.entities[0].vruntime;
    assert!(owed != 0 && owed_now.abs_diff(owed) <= 2, "{owed} {owed_now}");
}

#[test]
fn what_a_sleeper_is_owed_has_a_bound() {
    let mut bench = Bench::new(&[1024, 88_761]);
    bench.run(3);
    bench.entities[0].lag = 0;
    bench.queue.leave(TaskId(0), &mut bench.entities[0], true, 1000);
    assert!(bench.entities[0].lag.abs() <= 1000, "{:?}", bench.entities[0]);
}

#[test]
fn whoever_moves_keeps_what_was_left_of_its_slice() {
    let mut bench = Bench::new(&[1024, 1024]);
    bench.run(1);
    let first = bench.running.expect("somebody runs").0;
    let left = bench.entities[first as usize].deadline - bench.entities[first as usize].vruntime;
    bench.leave(first, false);
    bench.join(first, 1024, Joins::Restart);
    let entity = bench.entities[first as usize];
    assert_eq!(entity.deadline - entity.vruntime, left);
}

#[test]
fn who_gives_way_is_not_next() {
    let mut bench = Bench::new(&[1024, 1024]);
    bench.run(1);
    let running = bench.running.expect("somebody runs");
    bench.queue.give_way(running, &mut bench.entities[running.index()], SLICE_NS);
    let next = bench.queue.pick(&bench.entities, Some(running));
    assert_ne!(next, Some(running));
}

proptest! {
    /// Nobody who is always there gets more than two slices less than its share.
    #[test]
    fn nobody_starves(nices in prop::collection::vec(-20i8..20, 1..12), ticks in 1u64..5000) {
        let weights: Vec<i64> = nices.iter().map(|&nice| weight_of(Policy::Other, nice)).collect();
        let mut bench = Bench::new(&weights);
        bench.run(ticks);
        let all: i64 = weights.iter().sum();
        for (&got, &weight) in bench.got_ns.iter().zip(&weights) {
            let share = (u128::from(ticks * TICK_NS) * weight as u128 / all as u128) as u64;
            prop_assert!(got + 2 * SLICE_NS + TICK_NS >= share, "{got} of {share}");
        }
    }

    /// The sums are those of the tasks, whatever came and went.
    #[test]
    fn sums_are_kept(moves in prop::collection::vec((0u32..6, 0u64..5), 1..200)) {
        let mut bench = Bench::new(&[1024]);
        bench.entities.resize(6, Entity::default());
        bench.got_ns.resize(6, 0);
        for (task, ticks) in moves {
            match bench.entities[task as usize].is_queued() {
                true => bench.leave(task, ticks % 2 == 0),
                false => bench.join(task, 15 + i64::from(task) * 500, Joins::Restart),
            }
            if !bench.queue.is_empty() {
                bench.run(ticks);
            }
            let queued = || bench.entities.iter().filter(|e| e.is_queued());
            prop_assert_eq!(bench.queue.weight, queued().map(|e| e.weight).sum::<i64>());
            let weighted = |e: &Entity| i128::from(e.weight) * i128::from(e.vruntime);
            prop_assert_eq!(bench.queue.weighted, queued().map(weighted).sum::<i128>());
        }
    }
}
