//! Random runs, compared with a model that checks every microsecond and tries every pairing.

use super::*;
use keel_abi::{CpuSet, Pid, Topology};
use keel_trace::TaskInfo;
use keel_trace::Why;
use proptest::prelude::*;

const CPUS: u32 = 4;
const TASKS: u32 = 6;
const START: Instant = Instant::ZERO;

/// A step of a run: after `gap` microseconds, something happens to a CPU or task.
#[derive(Clone, Debug)]
struct Move {
    gap: u64,
    cpu: u32,
    task: u32,
    kind: u8,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = (0u64..40, 0..CPUS, 0..TASKS, 0u8..7);
    prop::collection::vec(one.prop_map(|(gap, cpu, task, kind)| Move { gap, cpu, task, kind }), 1..80)
}

/// The reference state: which tasks run where, which wait, and which may run where.
struct Model {
    running: [Option<u32>; CPUS as usize],
    waiting: [bool; TASKS as usize],
    allowed: [u64; TASKS as usize],
    core_us: u64,
}

impl Model {
    fn pass(&mut self, us: u64) {
        let idle = (0..CPUS).filter(|&c| self.running[c as usize].is_none()).fold(0, |set, c| set | 1 << c);
        self.core_us += us * u64::from(self.best(idle, 0));
    }

    fn best(&self, idle: u64, task: usize) -> u32 {
        if task == TASKS as usize {
            return 0;
        }
        let mut best = self.best(idle, task + 1);
        if self.waiting[task] {
            for cpu in (0..CPUS).filter(|cpu| idle & self.allowed[task] & (1 << cpu) != 0) {
                best = best.max(1 + self.best(idle & !(1 << cpu), task + 1));
            }
        }
        best
    }

    /// The event that `m` stands for in this state, if any.
    fn step(&mut self, m: &Move) -> Option<What> {
        let (cpu, task) = (m.cpu as usize, m.task as usize);
        let here = self.running[cpu];
        let asleep = !self.waiting[task] && !self.running.contains(&Some(m.task));
        let id = |task: Option<u32>| task.map_or(TaskId::IDLE, TaskId);
        match m.kind {
            0 | 1 if asleep => {
                self.waiting[task] = true;
                Some(What::Wakeup { task: TaskId(m.task), target: CpuId(m.cpu), waker: TaskId::IDLE })
            }
            2 | 3 if self.waiting[task] && self.allowed[task] >> cpu & 1 == 1 => {
                self.waiting[task] = false;
                self.running[cpu] = Some(m.task);
                here.into_iter().for_each(|prev| self.waiting[prev as usize] = true);
                let why = if here.is_some() { Why::Preempted } else { Why::WasIdle };
                Some(What::Switch { prev: id(here), why, next: TaskId(m.task) })
            }
            4 if here.is_some() => {
                self.running[cpu] = None;
                Some(What::Switch { prev: id(here), why: Why::Blocked, next: TaskId::IDLE })
            }
            5 => Some(What::Kick { target: CpuId(m.cpu), flags: 0 }),
            6 if self.waiting[task] => {
                Some(What::Migrate { task: TaskId(m.task), from: CpuId(0), to: CpuId(m.cpu) })
            }
            _ => None,
        }
    }
}

struct Total(u64);

impl Observer for Total {
    fn wasted(&mut self, _: CpuId, start: Instant, end: Instant) {
        assert!(end.since(start) >= SHORT);
        self.0 += 1;
    }
}

proptest! {
    #[test]
    fn waste_is_what_a_look_at_every_moment_finds(
        moves in moves(),
        allowed in prop::array::uniform6(prop_oneof![Just((1u64 << CPUS) - 1), 1u64..1 << CPUS]),
    ) {
        let mut waste = WastedCores::observed(5, Total(0));
        let (topology, name) = (Topology::flat(CPUS), String::new);
        waste.meta(START, &Meta::Start { topology, scheduler: name(), workload: name(), unit: name() });
        for (id, &set) in allowed.iter().enumerate() {
            let (task, pid) = (TaskId(id as u32), Pid(id as u32));
            let cpus = CpuSet::from_words(&[set]);
            waste.meta(START, &Meta::Task(TaskInfo { task, pid, name: "t".into(), nice: 0, cpus }));
        }
        let mut model = Model {
            running: [None; CPUS as usize], waiting: [false; TASKS as usize], allowed, core_us: 0,
        };
        let mut at = START;
        let mut waited = false;
        for m in &moves {
            model.pass(m.gap);
            at += Span::from_us(m.gap);
            if let Some(what) = model.step(m) {
                waste.events(&[Event { at, cpu: CpuId(m.cpu), what }]);
            }
            waited |= model.waiting.contains(&true);
        }
        waste.meta(at, &Meta::End);
        let verdict = waste.verdict();
        prop_assert_eq!(verdict.wasted + verdict.transient, Span::from_us(model.core_us));
        prop_assert_eq!(verdict.episodes, waste.observer().0);
        prop_assert!(waited || verdict.wasted + verdict.transient == Span::ZERO, "nobody waited, nothing is wasted");
        prop_assert!(!verdict.lower_bound);
    }
}
