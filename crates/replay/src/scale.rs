//! Makes several copies of the same load. Each copy has all tasks, which wait only for tasks of their own copy.

use keel_abi::cgroup::{Cgroup, CgroupId};
use keel_abi::tape::{Begin, Op, Recorded, Tape};
use keel_abi::task::{Step, Workload};
use keel_abi::timeline::{Change, Happening};
use std::sync::Arc;

/// Returns `copies` copies of a recording's workload, or the workload itself for one copy or if it is not from a
/// recording.
pub fn scaled(mut workload: Workload, copies: u32) -> Workload {
    let Some(recorded) = workload.recorded.clone().filter(|_| copies > 1) else { return workload };
    let (specs, semaphores) = (workload.tasks.len() as u32, recorded.semaphores);
    let (mut tapes, mut begins) = (recorded.tapes.clone(), recorded.begins.clone());
    let (mut pipes, of_one) = (recorded.pipes.clone(), recorded.pipes.len() as u32);
    let (tasks, cgroups) = (workload.tasks.clone(), workload.cgroups.clone());
    let sessions = tasks.iter().map(|task| task.session).max().unwrap_or(0);
    for copy in 1..copies {
        // All copies share the root.
        let shift = |CgroupId(id)| CgroupId(if id == 0 { 0 } else { id + copy * cgroups.len() as u32 });
        let by = Shift { specs: copy * specs, semaphores: copy * semaphores, pipes: copy * of_one };
        tapes.extend(recorded.tapes.iter().map(|tape| by.shifted(tape)));
        pipes.extend_from_slice(&recorded.pipes);
        begins.extend(recorded.begins.iter().map(|begin| elsewhere(*begin, copy)));
        workload.tasks.extend(tasks.iter().cloned().map(|mut task| {
            task.process += copy * specs;
            task.cgroup = task.cgroup.map(shift);
            for step in &mut task.steps {
                if let Step::Cgroup(step) = step {
                    *step = step.about(shift(step.id()));
                }
            }
            if task.session != 0 {
                task.session += copy * sessions;
            }
            task
        }));
        // Each copy has its own limits.
        let path = |group: &Cgroup| {
            let (top, below) = group.path[1..].split_once('/').unwrap_or((&group.path[1..], ""));
            let slash = if below.is_empty() { "" } else { "/" };
            format!("/{top}-copy-{copy}{slash}{below}")
        };
        let copied =
            |group: &Cgroup| Cgroup { path: path(group), parent: shift(group.parent), ..group.clone() };
        workload.cgroups.extend(cgroups.iter().map(copied));
    }
    workload.timeline = workload.timeline.iter().flat_map(|entry| of_all(entry, copies, specs)).collect();
    workload.recorded = Some(Arc::new(Recorded { tapes, begins, semaphores: semaphores * copies, pipes }));
    workload.name = format!("{} x {copies}", workload.name);
    workload
}

/// Returns the entries that change the tasks of all copies as this one changes those of the recording; CPUs exist once.
fn of_all(entry: &Happening, copies: u32, specs: u32) -> impl Iterator<Item = Happening> + use<> {
    let entry = entry.clone();
    let copies = if entry.change.spec().is_some() { copies } else { 1 };
    (0..copies).map(move |copy| {
        let mut entry = Happening { follows: entry.follows || copy > 0, ..entry.clone() };
        if let Change::Affinity { spec, .. } | Change::Nice { spec, .. } | Change::Policy { spec, .. } =
            &mut entry.change
        {
            *spec += copy * specs;
        }
        entry
    })
}

/// Spreads the copies of a task over CPUs.
fn elsewhere(begin: Begin, copy: u32) -> Begin {
    Begin { cpu: keel_abi::CpuId(begin.cpu.0 + copy), ..begin }
}

/// The difference between a copy's numbers and the recording's.
struct Shift {
    specs: u32,
    semaphores: u32,
    pipes: u32,
}

impl Shift {
    fn shifted(&self, tape: &Tape) -> Tape {
        let of = |semaphore| semaphore + self.semaphores;
        let shift = |op| match op {
            Op::Await(semaphore) => Op::Await(of(semaphore)),
            Op::Post { semaphore, sync } => Op::Post { semaphore: of(semaphore), sync },
            Op::PostMeanwhile { semaphore, sync } => Op::PostMeanwhile { semaphore: of(semaphore), sync },
            Op::Put { pipe, bytes, packet } => Op::Put { pipe: pipe + self.pipes, bytes, packet },
            Op::Take { pipe, bytes } => Op::Take { pipe: pipe + self.pipes, bytes },
            Op::Fork { spec, process } => Op::Fork { spec: spec + self.specs, process },
            other => other,
        };
        tape.iter().map(shift).collect()
    }
}
