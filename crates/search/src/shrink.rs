//! Smaller inputs that fail the same way.
//!
//! Candidates come in a fixed order, those with faster runs first. The first that still fails is taken, and the search
//! continues with smaller inputs than that, until nothing smaller fails or the runs are used up.

use crate::fuzz::{ROUND, Ran, Subject};
use crate::genome::{Genome, Policy, Range, Shape, Step};
use crate::mutate::without_task;
use std::collections::BTreeSet;

/// Longer runs are shortened first, because each run takes its time.
const LONG_US: u32 = 2_000_000;

/// Returns the smallest input found with this kind of failure, and the number of runs: about `most_runs` at most. Stops
/// when `is_over` returns true.
pub fn shrunk(
    subject: &dyn Subject,
    genome: &Genome,
    kind: &str,
    ranges: &[Range],
    most_runs: usize,
    is_over: &dyn Fn() -> bool,
) -> (Genome, usize) {
    let (mut best, mut runs) = (genome.clone(), 0);
    let mut tried = BTreeSet::from([genome.clone()]);
    let mut from = 0;
    'again: loop {
        let mut left = smaller(&best, ranges);
        // More are likely near the last one found.
        let count = left.len().max(1);
        left.rotate_left(from % count);
        let left: Vec<(usize, Genome)> =
            left.into_iter().enumerate().filter(|(_, one)| !tried.contains(one)).collect();
        for part in left.chunks(ROUND / 4) {
            if runs >= most_runs || is_over() {
                break 'again;
            }
            let genomes: Vec<Genome> = part.iter().map(|(_, one)| one.clone()).collect();
            runs += genomes.len();
            let ran = subject.run(&genomes);
            let fails = |ran: &Ran| ran.failures.iter().any(|failure| failure.kind == kind);
            if let Some(at) = ran.iter().position(fails) {
                from = (from + part[at].0) % count;
                best = genomes[at].clone();
                // Some changes cancel each other, because a repair restores what was removed.
                tried.insert(best.clone());
                continue 'again;
            }
            tried.extend(genomes);
        }
        break;
    }
    (best.repaired(ranges), runs)
}

/// Inputs that are smaller by one change, each valid and different.
fn smaller(genome: &Genome, ranges: &[Range]) -> Vec<Genome> {
    let mut made = Vec::new();
    let mut offer = |change: &dyn Fn(&mut Genome)| {
        let mut smaller = genome.clone();
        change(&mut smaller);
        let smaller = smaller.repaired(ranges);
        if smaller != *genome && !made.contains(&smaller) {
            made.push(smaller);
        }
    };
    if genome.duration_us > LONG_US {
        offer(&|it| it.duration_us /= 4);
    }
    tasks(genome, &mut offer);
    offer(&|it| it.timeline.clear());
    offer(&|it| it.settings.clear());
    machine(genome, &mut offer);
    // After tasks: many tasks do in a short time what few do in a long one.
    for part in [8, 2] {
        offer(&|it| it.duration_us /= part);
    }
    offer(&|it| it.duration_us = it.duration_us / 4 * 3);
    offer(&|it| it.noise = false);
    for at in 0..genome.timeline.len() {
        offer(&|it| _ = it.timeline.remove(at));
        offer(&|it| it.timeline[at].every_us = 0);
    }
    for at in 0..genome.settings.len() {
        offer(&|it| _ = it.settings.remove(at));
    }
    for at in 0..genome.tasks.len() {
        within_task(genome, at, &mut offer);
    }
    offer(&|it| it.seed = 1);
    made
}

type Offer<'a> = &'a mut dyn FnMut(&dyn Fn(&mut Genome));

fn tasks(genome: &Genome, offer: Offer<'_>) {
    let count = genome.tasks.len();
    if count > 2 {
        offer(&|it| (count / 2..count).rev().for_each(|at| without_task(it, at)));
        offer(&|it| (0..count / 2).rev().for_each(|at| without_task(it, at)));
    }
    for at in (0..count).filter(|_| count > 1) {
        offer(&|it| without_task(it, at));
    }
    for at in 0..count {
        let instances = genome.tasks[at].instances;
        for fewer in [1, instances / 2, instances.saturating_sub(1)] {
            if fewer < instances {
                offer(&|it| it.tasks[at].instances = fewer);
            }
        }
    }
}

fn machine(genome: &Genome, offer: Offer<'_>) {
    let Shape { nodes, llcs, cores, threads } = genome.machine;
    offer(&|it| it.machine = Shape::default());
    offer(&|it| it.machine = Shape { cores: 2, ..Shape::default() });
    for fewer in [1, nodes / 2, nodes - 1] {
        offer(&|it| it.machine.nodes = fewer.max(1));
    }
    for fewer in [1, llcs / 2, llcs - 1] {
        offer(&|it| it.machine.llcs = fewer.max(1));
    }
    if threads > 1 {
        offer(&|it| it.machine.threads = 1);
    }
    for fewer in [1, cores / 2, cores - 1] {
        offer(&|it| it.machine.cores = fewer.max(1));
    }
}

fn within_task(genome: &Genome, at: usize, offer: Offer<'_>) {
    let task = &genome.tasks[at];
    for nth in 0..task.steps.len() {
        offer(&|it| _ = it.tasks[at].steps.remove(nth));
    }
    offer(&|it| it.tasks[at].waker = None);
    offer(&|it| it.tasks[at].replies = false);
    offer(&|it| it.tasks[at].forks = None);
    offer(&|it| it.tasks[at].group = None);
    offer(&|it| it.tasks[at].policy = Policy::Other);
    offer(&|it| it.tasks[at].nice = 0);
    offer(&|it| it.tasks[at].cpus = 0);
    offer(&|it| it.tasks[at].delay_us = 0);
    offer(&|it| it.tasks[at].passes = 0);
    if task.passes > 1 {
        offer(&|it| it.tasks[at].passes = 1);
        offer(&|it| it.tasks[at].passes /= 2);
    }
    for (nth, step) in task.steps.iter().enumerate() {
        for simpler in simpler(*step) {
            offer(&|it| it.tasks[at].steps[nth] = simpler);
        }
    }
}

/// Replaces this step with a simpler one.
fn simpler(step: Step) -> Vec<Step> {
    let times = |us: u32, with: &dyn Fn(u32) -> Step| {
        let rounder = [us / 10, us / 2, rounded(us)];
        rounder.into_iter().filter(|&less| less > 0 && less < us).map(with).collect::<Vec<_>>()
    };
    match step {
        Step::Run(us) => times(us, &Step::Run),
        Step::Sleep(us) => times(us, &Step::Sleep),
        Step::Timer(us) => [vec![Step::Sleep(us)], times(us, &Step::Timer)].concat(),
        Step::Locked(mutex, us) => {
            [vec![Step::Run(us)], times(us, &|less| Step::Locked(mutex, less))].concat()
        }
        Step::Pinned(us) => [vec![Step::Run(us)], times(us, &Step::Pinned)].concat(),
        Step::Touch(kib) => times(kib, &Step::Touch),
        Step::Yield | Step::Nice(_) | Step::Cpus(_) => Vec::new(),
    }
}

/// With only one non-zero digit, as people would write it.
fn rounded(n: u32) -> u32 {
    match n.checked_ilog10() {
        None => 0,
        Some(digits) => n / 10u32.pow(digits) * 10u32.pow(digits),
    }
}
