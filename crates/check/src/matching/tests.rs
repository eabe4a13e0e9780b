//! Compared with a matching found from scratch by brute force after every step.

use super::*;
use proptest::prelude::*;

const CPUS: u32 = 6;
const TASKS: u32 = 8;
/// 0 is none.
const GROUPS: u32 = 3;

#[derive(Clone, Debug)]
enum Step {
    Flip(u32),
    Wait(u32, Vec<u32>, u32, u32),
    Unwait(u32),
    Close(u32, u32),
    Reopen(u32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..CPUS).prop_map(Step::Flip),
        (0..TASKS, prop::collection::vec(0..CPUS, 0..4), 0..CPUS, 0..GROUPS)
            .prop_map(|(t, c, p, g)| Step::Wait(t, c, p, g)),
        (0..TASKS).prop_map(Step::Unwait),
        (1..GROUPS, 0..CPUS).prop_map(|(g, c)| Step::Close(g, c)),
        (1..GROUPS, 0..CPUS).prop_map(|(g, c)| Step::Reopen(g, c)),
    ]
}

/// The most idle CPUs that waiting tasks could use: tries every choice for every task.
fn brute(idle: u64, waiting: &[Option<u64>]) -> u32 {
    let Some((first, rest)) = waiting.split_first() else { return 0 };
    let mut best = brute(idle, rest);
    if let Some(allowed) = first {
        for cpu in (0..CPUS).filter(|cpu| (idle & allowed) >> cpu & 1 == 1) {
            best = best.max(1 + brute(idle & !(1 << cpu), rest));
        }
    }
    best
}

proptest! {
    #[test]
    fn it_is_maximum_after_every_step(steps in prop::collection::vec(step(), 1..60)) {
        let mut matching = Matching::new(CPUS);
        let (mut idle, mut waiting) = (0u64, [None; TASKS as usize]);
        let mut closed = [[0u32; CPUS as usize]; GROUPS as usize];
        let mut paired = [None; CPUS as usize];
        for step in steps {
            match step {
                Step::Flip(cpu) if idle >> cpu & 1 == 1 => { idle &= !(1 << cpu); matching.busy(CpuId(cpu)) }
                Step::Flip(cpu) => { idle |= 1 << cpu; matching.idle(CpuId(cpu)) }
                Step::Wait(t, ..) if waiting[t as usize].is_some() => {}
                Step::Wait(t, cpus, prefer, group) => {
                    let set: CpuSet = cpus.into_iter().map(CpuId).collect();
                    let class = matching.class_of(&set, group);
                    waiting[t as usize] = Some((set.words().first().copied().unwrap_or((1 << CPUS) - 1), group));
                    matching.wait(t, class, CpuId(prefer));
                }
                Step::Unwait(t) => { waiting[t as usize] = None; matching.unwait(t) }
                Step::Close(group, cpu) => {
                    closed[group as usize][cpu as usize] += 1;
                    matching.close(group, CpuId(cpu));
                }
                Step::Reopen(group, cpu) => {
                    let times = &mut closed[group as usize][cpu as usize];
                    *times = times.saturating_sub(1);
                    matching.reopen(group, CpuId(cpu));
                }
            }
            let changes = (0..).map_while(|nth| matching.change(nth));
            changes.for_each(|(cpu, task)| paired[cpu.index()] = task);
            matching.forget_changes();
            // The CPUs that each waiting task may currently use.
            let usable = waiting.map(|task: Option<(u64, u32)>| task.map(|(allowed, group)| {
                let open = (0..CPUS).filter(|&cpu| closed[group as usize][cpu as usize] == 0);
                open.fold(0, |cpus, cpu| cpus | 1 << cpu) & allowed
            }));
            let mut seen = 0u32;
            for (cpu, task) in paired.iter().enumerate().filter_map(|(c, t)| t.map(|t| (c, t))) {
                prop_assert!(idle >> cpu & 1 == 1, "CPU {cpu} is paired and busy");
                prop_assert!(usable[task as usize].is_some_and(|allowed| allowed >> cpu & 1 == 1));
                prop_assert!(seen >> task & 1 == 0, "task {task} is paired twice");
                seen |= 1 << task;
            }
            prop_assert_eq!(seen.count_ones(), brute(idle, &usable));
        }
    }
}
