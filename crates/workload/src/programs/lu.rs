//! `lu:THREADS[:STEPS]`: LU of the NAS parallel benchmarks with OpenMP (NPB 3.3), class B: 102 x 102 x 102 points, 250
//! time steps by default.
//!
//! The grid's 100 inner rows are divided among the threads as by OpenMP's static schedule. A step sweeps over the 100
//! inner planes forward and back, and each sweep is a pipeline (`ssor.f`): in each plane, a thread computes its part of
//! the matrix (`jacld`, `jacu`), waits until its left neighbour is done with that plane (`sync_left`), solves its rows
//! (`blts`, `buts`) and lets its right neighbour continue (`sync_right`). The neighbours' flags hold one message each,
//! and a thread that waits for one spins, however long it takes. Before, between and after the sweeps, and three times
//! in the right-hand side (`rhs.f`), all threads meet at libgomp's barrier: 300,000 spins, which its authors estimate
//! at 3 ms (`env.c`), then a futex. With more threads than available CPUs it would spin only 100 times; this model
//! assumes that there are enough.
//!
//! The number of a step's operations is the one by which LU itself computes the rate that it prints. One operation per
//! nanosecond is an estimate (half an operation per cycle of the paper's 2.1 GHz), and so are the loops' shares of the
//! operations. The main thread forks the others, one after the other, and works too. It counts the steps.

use super::{again, task, within};
use keel_abi::Span;
use keel_abi::task::{Amount, ObjectId, Step, TaskSpec, Workload};

/// The number of points in each direction.
const POINTS: u64 = 102;
/// The number of rows, and of planes, without the boundary.
const INNER: u32 = 100;
const STEPS: i64 = 250;
/// The number of operations of a step: 1984.77 n^3 - 10923.3 n^2 + 27770.9 n - 144010.
const STEP_OPERATIONS: u64 =
    (198_477 * POINTS.pow(3) - 1_092_330 * POINTS.pow(2) + 2_777_090 * POINTS - 14_401_000) / 100;
/// The duration of an operation, in nanoseconds.
const OPERATION_NS: u64 = 1;
/// How long libgomp's barrier spins.
const PATIENCE: Span = Span::from_ms(3);
/// Shares of a step's operations, in thousandths: scaling the right-hand side; the matrices and the solutions of both
/// sweeps; updating the variables; the three parts of the right-hand side.
const SCALE: u64 = 20;
const MATRIX: u64 = 160;
const SOLUTION: u64 = 160;
const UPDATE: u64 = 20;
const RIGHT_HAND_SIDE: [u64; 3] = [30, 190, 100];

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let (threads, steps) = match *numbers {
        [threads] => (threads, STEPS),
        [threads, steps] => (threads, steps),
        _ => return None,
    };
    let (threads, steps) = (within(threads, 1, INNER)?, within(steps, 1, 1_000_000)?);
    let thread = |id| TaskSpec { instances: u32::from(id == 0), ..task("lu", 0, thread(id, threads, steps)) };
    Some(Workload {
        tasks: (0..threads).map(thread).collect(),
        barriers: vec![threads],
        flags: threads - 1,
        unit: "steps".to_owned(),
        ..Workload::default()
    })
}

fn thread(id: u32, threads: u32, times: u32) -> Vec<Step> {
    let rows = u64::from(INNER / threads + u32::from(id < INNER % threads));
    let part = |thousandths| {
        Span::from_ns(STEP_OPERATIONS * OPERATION_NS * thousandths / 1000 * rows / u64::from(INNER))
    };
    let work = |thousandths| Step::Run(Amount::fixed(part(thousandths)));
    let of_plane =
        |thousandths| Step::Run(Amount::fixed(Span::from_ns(part(thousandths).as_ns() / u64::from(INNER))));
    let barrier = Step::SpinBarrier { barrier: ObjectId(0), patience: Some(PATIENCE) };
    let mut steps = Vec::new();
    if id == 0 {
        steps.extend((1..threads).map(Step::Fork));
    }
    let begin = steps.len() as u32;
    steps.extend([work(SCALE), barrier.clone()]);
    for sweep in 0..2 {
        let plane = steps.len() as u32;
        steps.push(of_plane(MATRIX));
        steps.extend((id > 0).then(|| Step::Lower(ObjectId(id - 1))));
        steps.push(of_plane(SOLUTION));
        steps.extend((id + 1 < threads).then_some(Step::Raise(ObjectId(id))));
        steps.extend([again(plane, Some(INNER), sweep), barrier.clone()]);
    }
    for share in [UPDATE].into_iter().chain(RIGHT_HAND_SIDE) {
        steps.extend([work(share), barrier.clone()]);
    }
    steps.extend((id == 0).then_some(Step::Count));
    steps.push(again(begin, Some(times), 2));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_as_much_work_whoever_does_it() {
        let serial = STEP_OPERATIONS * OPERATION_NS;
        assert_eq!(serial, 1_995_296_410);
        for threads in [1, 7, 16, 64, 100] {
            let made = workload(&[threads, 1]).unwrap();
            let in_sweep = |steps: &[Step], at| {
                steps[at + 1..]
                    .iter()
                    .any(|s| matches!(s, Step::Loop { to, slot: 0 | 1, .. } if *to as usize <= at))
            };
            let work = |spec: &TaskSpec| {
                let runs = spec.steps.iter().enumerate().map(|(at, step)| match step {
                    Step::Run(amount) if in_sweep(&spec.steps, at) => amount.base.as_ns() * u64::from(INNER),
                    Step::Run(amount) => amount.base.as_ns(),
                    _ => 0,
                });
                runs.sum::<u64>()
            };
            let all: u64 = made.tasks.iter().map(work).sum();
            assert!(serial - all < serial / 10_000, "{threads} threads: {all}");
        }
    }

    #[test]
    fn every_flag_is_between_two_neighbours() {
        let made = workload(&[4, 1]).unwrap();
        assert_eq!((made.flags, &made.barriers[..]), (3, &[4][..]));
        let flags = |spec: &TaskSpec| -> Vec<String> {
            spec.steps
                .iter()
                .filter(|s| matches!(s, Step::Raise(_) | Step::Lower(_)))
                .map(|s| format!("{s:?}"))
                .collect()
        };
        let both = |steps: &[&'static str]| steps.repeat(2);
        assert_eq!(flags(&made.tasks[0]), both(&["Raise(ObjectId(0))"]));
        assert_eq!(flags(&made.tasks[1]), both(&["Lower(ObjectId(0))", "Raise(ObjectId(1))"]));
        assert_eq!(flags(&made.tasks[3]), both(&["Lower(ObjectId(2))"]));
        assert!(workload(&[101]).is_none() && workload(&[0]).is_none() && workload(&[2, 0]).is_none());
    }
}
