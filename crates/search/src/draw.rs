//! Random inputs.

use crate::genome::{
    Act, GROUPS, Genome, Happening, MAX_CPUS, MAX_DURATION_US, MAX_STEP_US, MUTEXES, Policy, Range, Shape,
    Step, Task,
};
use crate::rng::Rng;

/// Any input.
pub fn genome(rng: &mut Rng, ranges: &[Range]) -> Genome {
    let tasks = rng.magnitude(1, 6);
    let happenings = if rng.once_in(3) { rng.within(1, 3) } else { 0 };
    let duration_us = duration_us(rng);
    let mut settings = Vec::new();
    for range in ranges {
        if rng.once_in(2) {
            settings.push(setting(rng, range));
        }
    }
    Genome {
        machine: shape(rng),
        tasks: (0..tasks).map(|at| task(rng, at as u8)).collect(),
        timeline: (0..happenings).map(|_| happening(rng, duration_us)).collect(),
        settings,
        noise: rng.once_in(2),
        seed: rng.below(1 << 32),
        duration_us,
    }
    .repaired(ranges)
}

/// Returns a setting within its range.
pub(crate) fn setting(rng: &mut Rng, range: &Range) -> (String, i64) {
    let width = range.high.abs_diff(range.low);
    let value = match rng.below(4) {
        0 => range.low,
        1 => range.high,
        // Ranges of times and sizes span orders of magnitude.
        2 if width > 1 => range.low.saturating_add_unsigned(rng.magnitude(1, width)),
        _ => range.low.saturating_add_unsigned(rng.below(width.saturating_add(1).max(1))),
    };
    (range.name.clone(), value)
}

pub(crate) fn duration_us(rng: &mut Rng) -> u32 {
    // Most faults show early, but the kernel's watchdog waits for half a minute.
    match rng.below(8) {
        0 => rng.magnitude(4_000_000, u64::from(MAX_DURATION_US)) as u32,
        1 | 2 => rng.magnitude(500_000, 4_000_000) as u32,
        _ => rng.magnitude(2_000, 500_000) as u32,
    }
}

pub(crate) fn shape(rng: &mut Rng) -> Shape {
    Shape {
        nodes: rng.magnitude(1, 3) as u32,
        llcs: rng.magnitude(1, 3) as u32,
        cores: rng.magnitude(1, u64::from(MAX_CPUS) / 2) as u32,
        threads: rng.within(1, 2) as u32,
    }
}

pub(crate) fn task(rng: &mut Rng, at: u8) -> Task {
    let steps = rng.magnitude(1, 5);
    Task {
        instances: if rng.once_in(12) { 0 } else { rng.magnitude(1, 16) as u8 },
        delay_us: if rng.once_in(4) { rng.magnitude(1, 1_000_000) as u32 } else { 0 },
        nice: if rng.once_in(3) { nice(rng) } else { 0 },
        cpus: if rng.once_in(4) { cpus(rng) } else { 0 },
        policy: policy(rng),
        passes: if rng.once_in(4) { rng.magnitude(1, 1000) as u32 } else { 0 },
        group: rng.once_in(6).then(|| rng.below(u64::from(GROUPS)) as u8),
        waker: (at > 0 && rng.once_in(3)).then(|| rng.below(u64::from(at)) as u8),
        replies: rng.once_in(2),
        forks: rng.once_in(8).then(|| at + 1 + rng.below(3) as u8),
        steps: (0..steps).map(|_| step(rng)).collect(),
    }
}

pub(crate) fn policy(rng: &mut Rng) -> Policy {
    match rng.below(12) {
        0 => Policy::Batch,
        1 => Policy::Idle,
        2 => Policy::Fifo,
        _ => Policy::Other,
    }
}

pub(crate) fn nice(rng: &mut Rng) -> i8 {
    rng.below(40) as i8 - 20
}

/// Returns one CPU, some CPUs, or a contiguous range.
pub(crate) fn cpus(rng: &mut Rng) -> u32 {
    match rng.below(3) {
        0 => 1 << rng.below(u64::from(MAX_CPUS)),
        1 => rng.any() as u32,
        _ => (1u32 << rng.within(1, 8)) - 1,
    }
}

pub(crate) fn step(rng: &mut Rng) -> Step {
    let mut us = |low: u64| rng.magnitude(low, u64::from(MAX_STEP_US) / 16) as u32;
    let (work, rest) = (us(1), us(1));
    match rng.below(16) {
        0..=5 => Step::Run(work),
        6..=9 => Step::Sleep(rest),
        10 => Step::Timer(rest),
        11 => Step::Locked(rng.below(u64::from(MUTEXES)) as u8, work.min(20_000)),
        12 => Step::Pinned(work),
        13 => Step::Yield,
        14 => match rng.below(3) {
            0 => Step::Touch(rng.magnitude(1, 4096) as u32),
            1 => Step::Nice(nice(rng)),
            _ => Step::Cpus(cpus(rng)),
        },
        _ => Step::Run(work),
    }
}

pub(crate) fn happening(rng: &mut Rng, duration_us: u32) -> Happening {
    let what = match rng.below(3) {
        0 => Act::Offline(
            rng.below(u64::from(MAX_CPUS)) as u32,
            rng.magnitude(10, u64::from(duration_us)) as u32,
        ),
        1 => Act::Cpus(rng.below(8) as u8, cpus(rng)),
        _ => Act::Nice(rng.below(8) as u8, nice(rng)),
    };
    Happening {
        at_us: rng.below(u64::from(duration_us) + 1) as u32,
        every_us: if rng.once_in(2) { rng.magnitude(100, u64::from(duration_us).max(100)) as u32 } else { 0 },
        what,
    }
}
