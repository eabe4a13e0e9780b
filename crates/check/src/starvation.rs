//! Starvation: a task is runnable and does not run for too long.
//!
//! How long is too long? [`BOUND`], one second, is far beyond what a person takes for a running
//! machine and far below the kernel's watchdog (30 s), which ends the scheduler. But on a machine with more
//! work than CPUs even a perfectly fair round takes one slice for each task that shares a CPU; so each such task
//! adds a default slice (20 ms) to the bound: 150 runnable tasks a CPU may wait 4 s. The tasks are counted when the wait
//! begins and when it ends, over the CPUs that the starved task may use, whichever is more.

use crate::cpus::Integral;
use crate::finding::{Finding, Kind, called, kept};
use crate::table::Tasks;
use keel_abi::scx::SLICE_DFL_NS;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId};
use keel_trace::{Class, Event, Meta, Sink, What, Why};

/// The default bound on a wait, before what sharing adds.
pub const BOUND: Span = Span::from_s(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    Waiting { since: Instant, waiting: u64, rq: CpuId },
    Running,
}

#[derive(Clone, Debug)]
struct Row {
    task: TaskId,
    pid: Pid,
    name: String,
    /// How many CPUs it may use; 0 for all.
    may_use: u64,
    state: State,
}

impl From<TaskId> for Row {
    fn from(task: TaskId) -> Self {
        Self { task, pid: Pid(0), name: String::new(), may_use: 0, state: State::Asleep }
    }
}

/// Listens to a run and finds starved tasks.
#[derive(Clone, Debug)]
pub struct Starvation {
    bound: Span,
    keep: usize,
    now: Instant,
    machine: CpuSet,
    online: Integral,
    waiting: u64,
    tasks: Tasks<Row>,
    found: Vec<Finding>,
    count: u64,
}

impl Starvation {
    /// Finds waits longer than `bound` and keeps the `keep` longest.
    pub fn new(bound: Span, keep: usize) -> Self {
        Self {
            bound,
            keep,
            now: Instant::ZERO,
            machine: CpuSet::new(),
            online: Integral::default(),
            waiting: 0,
            tasks: Tasks::default(),
            found: Vec::new(),
            count: 0,
        }
    }

    /// The longest waits, longest first, and how many there were in all. Waits under way count up to
    /// the last thing heard.
    pub fn findings(&self) -> (Vec<Finding>, u64) {
        let mut all = self.clone();
        for row in self.tasks.iter() {
            if let State::Waiting { since, waiting, rq } = row.state {
                all.judge(self.now, row, since, waiting, rq, true);
            }
        }
        (all.found, all.count)
    }

    fn judge(&mut self, at: Instant, row: &Row, since: Instant, waiting: u64, rq: CpuId, still: bool) {
        let waited = at.since(since);
        if waited <= self.bound {
            return;
        }
        let share = match row.may_use {
            0 => self.online.level(),
            cpus => cpus,
        };
        let sharing = waiting.max(self.waiting) / share.max(1);
        if waited <= self.bound + Span::from_ns(SLICE_DFL_NS) * sharing {
            return;
        }
        self.count += 1;
        let who = called(&row.name, row.pid, row.task);
        let (was, end) = if still { ("has been", ", and still waits at the end") } else { ("was", "") };
        let text = format!("task {who} {was} runnable for {waited} without running, on CPU {rq}{end}");
        let finding = Finding {
            kind: Kind::Starvation,
            start: since,
            duration: waited,
            cpus: vec![rq],
            tasks: vec![row.task],
            text,
        };
        let place = self.found.partition_point(|f| (f.duration, since) >= (waited, f.start));
        if place < self.keep {
            self.found.insert(place, finding);
            self.found.truncate(self.keep);
        }
    }

    fn wait(&mut self, at: Instant, task: TaskId, rq: CpuId) {
        let waiting = self.waiting + 1;
        let Some(row) = self.tasks.get(task) else { return };
        if !matches!(row.state, State::Waiting { .. }) {
            row.state = State::Waiting { since: at, waiting, rq };
            self.waiting = waiting;
        }
    }

    fn stop(&mut self, at: Instant, task: TaskId, then: State) {
        let Some(row) = self.tasks.get(task) else { return };
        let before = std::mem::replace(&mut row.state, then);
        let State::Waiting { since, waiting, rq } = before else { return };
        if at.since(since) > self.bound {
            let row = row.clone();
            self.judge(at, &row, since, waiting, rq, false);
        }
        self.waiting -= 1;
    }

    fn event(&mut self, event: &Event) {
        let Event { at, cpu, what } = *event;
        match what {
            What::Switch { prev, next, .. } if prev == next => {}
            What::Switch { prev, why, next } => {
                self.stop(at, next, State::Running);
                match why {
                    Why::Preempted | Why::Yielded => self.wait(at, prev, cpu),
                    Why::Exited => self.gone(at, prev),
                    Why::Blocked | Why::WasIdle => self.stop(at, prev, State::Asleep),
                }
            }
            What::Wakeup { task, target, .. } | What::Fork { child: task, target, .. }
                if self.is(task, |state| state == State::Asleep) =>
            {
                self.wait(at, task, target);
            }
            What::Migrate { task, to, .. } => {
                if let Some(Row { state: State::Waiting { rq, .. }, .. }) = self.tasks.get(task) {
                    *rq = to;
                }
            }
            What::Exit { task } if self.is(task, |state| state != State::Running) => self.gone(at, task),
            What::Online { up, .. } => self.online.add(at, if up { 1 } else { -1 }),
            _ => {}
        }
    }

    fn is(&mut self, task: TaskId, wanted: impl Fn(State) -> bool) -> bool {
        self.tasks.get(task).is_some_and(|row| wanted(row.state))
    }

    fn gone(&mut self, at: Instant, task: TaskId) {
        self.stop(at, task, State::Asleep);
        self.tasks.end(task);
    }
}

impl Sink for Starvation {
    fn wants(&self) -> Class {
        Class::CORE
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.now = event.at;
            self.event(event);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.now = at;
        match meta {
            Meta::Start { topology, .. } => {
                self.machine = CpuSet::first(topology.cpus());
                self.online.add(at, i64::from(topology.cpus()));
            }
            Meta::Task(info) => {
                let may_use = info.cpus.and(&self.machine).len() as u64;
                let Some(row) = self.tasks.get(info.task) else { return };
                (row.pid, row.name, row.may_use) = (info.pid, kept(&info.name), may_use);
            }
            Meta::SchedulerExit { .. } | Meta::Policy(_) | Meta::End => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::play;

    fn check(cpus: u32, lines: &str, expected: &[&str]) {
        let mut starvation = Starvation::new(BOUND, 2);
        play(&mut starvation, cpus, lines);
        let (found, _) = starvation.findings();
        assert_eq!(found.iter().map(|f| f.text.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_wait_beyond_the_bound_is_found() {
        check(
            2,
            "0       0 fork A 0
             0       0 fork B 0
             0       0 switch - idle A
             500000  0 migrate B 0 1
             1500000 0 switch A preempted B
             1600000 0 switch B blocked A
             1700000 end",
            &["task task-b (pid 1001) was runnable for 1.50 s without running, on CPU 1"],
        );
    }

    #[test]
    fn one_that_still_waits_is_found() {
        check(
            1,
            "0 0 fork A 0
             2000000 end",
            &[
                "task task-a (pid 1000) has been runnable for 2.00 s without running, on CPU 0, and still waits at \
               the end",
            ],
        );
    }

    #[test]
    fn a_fair_round_is_no_starvation() {
        check(
            1,
            "0 0 fork A 0
             0 0 fork B 0
             1010000 0 switch - idle A
             1020000 0 switch A blocked B
             1030000 end",
            &[],
        );
    }
}
