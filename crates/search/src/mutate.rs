//! Inputs from other inputs: a few changes, or parts of two.

use crate::draw;
use crate::genome::{Act, Genome, Range, Step, Task};
use crate::rng::Rng;

/// Changes an input in a few places.
pub fn mutated(rng: &mut Rng, from: &Genome, ranges: &[Range]) -> Genome {
    let mut genome = from.clone();
    for _ in 0..rng.magnitude(1, 8) {
        change(rng, &mut genome, ranges);
    }
    genome.repaired(ranges)
}

/// Joins parts of two inputs.
pub fn crossed(rng: &mut Rng, a: &Genome, b: &Genome, ranges: &[Range]) -> Genome {
    let mut one = |from_b: bool| if from_b || rng.once_in(2) { b } else { a };
    let mut genome = Genome {
        machine: one(false).machine,
        tasks: a.tasks.clone(),
        timeline: one(false).timeline.clone(),
        settings: one(false).settings.clone(),
        noise: one(false).noise,
        seed: one(false).seed,
        duration_us: one(false).duration_us,
    };
    let base = genome.tasks.len() as u8;
    let moved = |task: &Task| Task {
        waker: task.waker.map(|waker| waker.saturating_add(base)),
        forks: task.forks.map(|forked| forked.saturating_add(base)),
        ..task.clone()
    };
    genome.tasks.extend(b.tasks.iter().map(moved));
    // Half of them, so that inputs don't grow with every crossing.
    while genome.tasks.len() > a.tasks.len().max(b.tasks.len()) {
        let at = rng.below(genome.tasks.len() as u64) as usize;
        without_task(&mut genome, at);
    }
    genome.repaired(ranges)
}

/// Removes a task and all references to it.
pub(crate) fn without_task(genome: &mut Genome, at: usize) {
    genome.tasks.remove(at);
    let gone = at as u8;
    let renumber = |n: Option<u8>| n.filter(|&n| n != gone).map(|n| if n > gone { n - 1 } else { n });
    for task in &mut genome.tasks {
        task.waker = renumber(task.waker);
        task.forks = renumber(task.forks);
    }
    genome.timeline.retain(|h| !matches!(h.what, Act::Cpus(task, _) | Act::Nice(task, _) if task == gone));
    for happening in &mut genome.timeline {
        if let Act::Cpus(task, _) | Act::Nice(task, _) = &mut happening.what
            && *task > gone
        {
            *task -= 1;
        }
    }
}

fn change(rng: &mut Rng, genome: &mut Genome, ranges: &[Range]) {
    let count = genome.tasks.len() as u64;
    match rng.below(16) {
        0 => genome.seed = rng.below(1 << 32),
        1 => genome.machine = draw::shape(rng),
        2 => change_shape(rng, genome),
        3 => genome.duration_us = draw::duration_us(rng),
        4 => genome.noise = !genome.noise,
        5 => genome.tasks.push(draw::task(rng, count as u8)),
        6 if count > 1 => without_task(genome, rng.below(count) as usize),
        7 => match rng.pick(ranges) {
            Some(range) => {
                let (name, value) = draw::setting(rng, range);
                genome.settings.retain(|(n, _)| *n != name);
                genome.settings.push((name, value));
            }
            None => genome.seed = rng.below(1 << 32),
        },
        8 => genome.timeline.push(draw::happening(rng, genome.duration_us)),
        9 if !genome.timeline.is_empty() => {
            let at = rng.below(genome.timeline.len() as u64) as usize;
            genome.timeline.remove(at);
        }
        _ if count > 0 => {
            let at = rng.below(count) as usize;
            change_task(rng, &mut genome.tasks[at], at as u8);
        }
        _ => genome.tasks.push(draw::task(rng, 0)),
    }
}

fn change_shape(rng: &mut Rng, genome: &mut Genome) {
    let shape = &mut genome.machine;
    let one = match rng.below(4) {
        0 => &mut shape.nodes,
        1 => &mut shape.llcs,
        2 => &mut shape.cores,
        _ => &mut shape.threads,
    };
    *one = if rng.once_in(2) { *one + 1 } else { one.saturating_sub(1) };
}

fn change_task(rng: &mut Rng, task: &mut Task, at: u8) {
    let drawn = draw::task(rng, at);
    match rng.below(14) {
        0 => task.instances = drawn.instances,
        1 => task.delay_us = drawn.delay_us,
        2 => task.nice = draw::nice(rng),
        3 => task.cpus = if task.cpus == 0 { draw::cpus(rng) } else { 0 },
        4 => task.policy = drawn.policy,
        5 => task.passes = drawn.passes,
        6 => task.group = drawn.group,
        7 => task.waker = if at > 0 { Some(rng.below(u64::from(at)) as u8) } else { None },
        8 => task.forks = drawn.forks,
        9 => task.steps.insert(rng.below(task.steps.len() as u64 + 1) as usize, draw::step(rng)),
        10 if task.steps.len() > 1 => {
            let at = rng.below(task.steps.len() as u64) as usize;
            task.steps.remove(at);
        }
        11 => task.replies = !task.replies,
        _ if !task.steps.is_empty() => {
            let at = rng.below(task.steps.len() as u64) as usize;
            change_step(rng, &mut task.steps[at]);
        }
        _ => task.steps.push(draw::step(rng)),
    }
}

fn change_step(rng: &mut Rng, step: &mut Step) {
    let scaled = |us: u32, rng: &mut Rng| match rng.below(4) {
        0 => us / 2,
        1 => us.saturating_mul(2),
        2 => us / 10,
        _ => us.saturating_mul(10),
    };
    match step {
        Step::Run(us) | Step::Sleep(us) | Step::Timer(us) | Step::Pinned(us) | Step::Locked(_, us)
            if !rng.once_in(3) =>
        {
            *us = scaled(*us, rng);
        }
        _ => *step = draw::step(rng),
    }
}
