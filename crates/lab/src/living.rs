//! Detects when a workload's last task has exited.

use keel_abi::Instant;
use keel_abi::task::Workload;
use keel_trace::{Class, Event, Meta, Sink, What};
use std::cell::Cell;

/// Counts the tasks of a run.
pub(crate) struct Living<'a> {
    /// The number of tasks that start on their own and have not started yet.
    to_come: u64,
    alive: u64,
    /// The number of tasks that are not part of the workload and never exit.
    others: u64,
    gone: &'a Cell<bool>,
}

impl<'a> Living<'a> {
    /// Creates a sink that sets `gone` once every task that starts on its own has started and all have exited, except
    /// `others`, which also start on their own but never exit.
    pub(crate) fn new(workload: &Workload, others: u64, gone: &'a Cell<bool>) -> Self {
        let own: u64 = workload.tasks.iter().map(|task| u64::from(task.instances)).sum();
        Self { to_come: own + others, alive: 0, others, gone }
    }
}

impl Sink for Living<'_> {
    fn wants(&self) -> Class {
        Class::CORE
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            match event.what {
                What::Fork { parent, .. } => {
                    self.alive += 1;
                    self.to_come = self.to_come.saturating_sub(u64::from(parent.is_idle()));
                }
                What::Exit { .. } => self.alive = self.alive.saturating_sub(1),
                _ => continue,
            }
            self.gone.set(self.alive == self.others && self.to_come == 0);
        }
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::task::TaskSpec;
    use keel_abi::{CpuId, CpuSet, Span, TaskId};

    #[test]
    fn a_workload_ends_when_no_task_is_left_or_yet_to_start() {
        let task = TaskSpec {
            name: "t".into(),
            instances: 2,
            delay: Span::ZERO,
            nice: 0,
            cpus: CpuSet::new(),
            steps: Vec::new(),
            ..TaskSpec::default()
        };
        let gone = Cell::new(false);
        let workload = Workload { tasks: vec![task], ..Workload::default() };
        let mut living = Living::new(&workload, 0, &gone);
        let mut check = |what, expected| {
            living.events(&[Event { at: Instant::ZERO, cpu: CpuId(0), what }]);
            assert_eq!(gone.get(), expected, "{what:?}");
        };
        let fork = |child, parent| What::Fork { child: TaskId(child), target: CpuId(0), parent };
        let exit = |task| What::Exit { task: TaskId(task) };
        check(fork(0, TaskId::IDLE), false);
        check(fork(1, TaskId(0)), false);
        check(exit(0), false);
        check(exit(1), false);
        check(fork(2, TaskId::IDLE), false);
        check(exit(2), true);
    }

    #[test]
    fn kernel_threads_do_not_keep_a_run_going() {
        let task = TaskSpec { instances: 1, ..TaskSpec::default() };
        let gone = Cell::new(false);
        let workload = Workload { tasks: vec![task], ..Workload::default() };
        let mut living = Living::new(&workload, 1, &gone);
        let mut check = |what, expected| {
            living.events(&[Event { at: Instant::ZERO, cpu: CpuId(0), what }]);
            assert_eq!(gone.get(), expected, "{what:?}");
        };
        let fork = |child| What::Fork { child: TaskId(child), target: CpuId(0), parent: TaskId::IDLE };
        check(fork(0), false);
        check(What::Exit { task: TaskId(0) }, false);
        check(fork(1), true);
    }
}
