//! Tracks which task runs or waits where, and how many are runnable on each CPU, as events arrive.
//!
//! A waiting task counts on the CPU of its runqueue; a throttled one counts nowhere. A [`SpanSink`] receives each span
//! of time when it ends.

use crate::notable::Standing;
use keel_abi::scx::load_weight_of_nice;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Event, Policy, What, Why};

/// A task's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It sleeps, or is unknown.
    #[default]
    Off,
    /// It waits on this CPU's runqueue.
    Waiting(CpuId),
    /// It runs.
    Running(CpuId),
}

impl State {
    /// Returns the CPU on which it runs or on whose runqueue it waits.
    pub fn cpu(self) -> Option<CpuId> {
        match self {
            Self::Off => None,
            Self::Waiting(cpu) | Self::Running(cpu) => Some(cpu),
        }
    }
}

/// How a wait began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begun {
    /// A wakeup or fork.
    #[default]
    Woken,
    /// The task was preempted, or yielded its CPU.
    Left,
}

/// A span of a task's life.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// The task.
    pub task: TaskId,
    /// Its state.
    pub state: State,
    /// When it began, in nanoseconds from the start of the run.
    pub from: u64,
    /// When it ended, likewise.
    pub to: u64,
    /// For a wait that ends here: when it began, on whichever CPU, and how.
    pub wait: Option<(u64, Begun)>,
}

/// The runnable tasks of a CPU, and the sum of their weights (1024 is nice 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Their number.
    pub tasks: u64,
    /// The sum of their weights.
    pub weight: u64,
}

/// Receives spans of time that have ended. Times are nanoseconds from the start of the run.
pub trait SpanSink {
    /// Called when a task has left a state.
    fn stretch(&mut self, _stretch: &Stretch) {}
    /// Called when a CPU's number of runnable tasks has changed.
    fn level(&mut self, cpu: CpuId, level: Level, from: u64, to: u64);
}

#[derive(Clone, Copy, Debug, Default)]
struct Task {
    state: State,
    since: u64,
    /// When the current wait began, on whichever CPU.
    waits_since: u64,
    begun: Begun,
    nice: i8,
    /// Whether the kernel throttles it.
    throttled: bool,
    /// The CPU for which it would wait if it weren't throttled.
    held: Option<CpuId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    level: Level,
    since: u64,
    running: bool,
    offline: bool,
    /// Whether it idles on purpose if it idles.
    reserved: bool,
}

impl Cpu {
    fn could_run(&self) -> bool {
        !self.running && !self.offline && !self.reserved
    }
}

/// The state at one instant.
#[derive(Debug)]
pub struct Now {
    /// The task that runs on each CPU.
    pub running: Vec<Option<TaskId>>,
    /// The waiting tasks and their CPUs.
    pub waiting: Vec<(TaskId, CpuId)>,
    /// For each CPU, whether it is offline.
    pub offline: Vec<bool>,
}

/// Follows a stream.
#[derive(Debug, Default)]
pub struct Follow {
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    idle: u64,
    waiting: u64,
}

impl Follow {
    /// Starts with a machine of this many CPUs, all idle.
    pub fn start(&mut self, cpus: usize) {
        self.cpus = vec![Cpu::default(); cpus];
        self.idle = cpus as u64;
    }

    /// Returns the number of idle CPUs and of waiting tasks.
    pub fn idle_and_waiting(&self) -> (u64, u64) {
        (self.idle, self.waiting)
    }

    /// Returns the number of runnable tasks on a CPU.
    pub fn runnable(&self, cpu: CpuId) -> u64 {
        self.cpus.get(cpu.index()).map_or(0, |cpu| cpu.level.tasks)
    }

    /// Returns the situation in which this decision is made.
    pub fn standing(&self, policy: &Policy) -> Standing {
        let (idle, waiting) = self.idle_and_waiting();
        let waits = |cpu: CpuId| {
            self.cpus.get(cpu.index()).map_or(0, |cpu| cpu.level.tasks.saturating_sub(u64::from(cpu.running)))
        };
        let others = policy.considered.iter().filter(|&cpu| cpu != policy.cpu);
        Standing {
            idle,
            waiting,
            // A decision that doesn't report where it looked may have looked anywhere.
            seen: if policy.considered.is_empty() { waiting } else { others.map(waits).sum() },
            here: self.runnable(policy.cpu),
            there: policy.chosen.map_or(0, |cpu| self.runnable(cpu)),
        }
    }

    /// Returns the current state, for a sink that joins midway.
    pub fn now(&self) -> Now {
        let mut running = vec![None; self.cpus.len()];
        let mut waiting = Vec::new();
        for (id, task) in self.tasks.iter().enumerate() {
            match task.state {
                State::Running(cpu) if cpu.index() < running.len() => {
                    running[cpu.index()] = Some(TaskId(id as u32));
                }
                State::Waiting(cpu) => waiting.push((TaskId(id as u32), cpu)),
                _ => {}
            }
        }
        Now { running, waiting, offline: self.cpus.iter().map(|cpu| cpu.offline).collect() }
    }

    /// Changes a task's nice value from `at` on.
    pub fn renice(&mut self, task: TaskId, nice: i8, at: u64, to: &mut impl SpanSink) {
        if task.is_idle() {
            return;
        }
        let (before, cpu) = {
            let row = self.row(task);
            (std::mem::replace(&mut row.nice, nice), row.state.cpu())
        };
        if let Some(cpu) = cpu.filter(|_| before != nice) {
            self.change(cpu, at, -1, -weight(before), to);
            self.change(cpu, at, 1, weight(nice), to);
        }
    }

    /// Handles one event, `at` nanoseconds from the start of the run.
    pub fn event(&mut self, event: &Event, at: u64, to: &mut impl SpanSink) {
        match event.what {
            What::Switch { prev, next, .. } if prev == next => {}
            What::Switch { prev, why, next } => {
                let then = match why {
                    Why::Preempted | Why::Yielded => State::Waiting(event.cpu),
                    Why::Blocked | Why::Exited | Why::WasIdle => State::Off,
                };
                self.becomes(prev, then, Begun::Left, at, to);
                self.becomes(next, State::Running(event.cpu), Begun::Left, at, to);
                self.runs(event.cpu, !next.is_idle());
            }
            What::Wakeup { task, target, .. } | What::Fork { child: task, target, .. }
                if self.state(task) == State::Off =>
            {
                self.becomes(task, State::Waiting(target), Begun::Woken, at, to);
            }
            What::Migrate { task, to: cpu, .. } if self.held(task).is_some() => {
                self.row(task).held = Some(cpu);
            }
            What::Migrate { task, to: cpu, .. } if self.waits(task) => {
                self.becomes(task, State::Waiting(cpu), Begun::Left, at, to);
            }
            What::Exit { task } if self.waits(task) => self.becomes(task, State::Off, Begun::Left, at, to),
            What::Exit { task } if self.held(task).is_some() => self.row(task).held = None,
            What::Throttled { task, on, .. } => self.throttle(task, on, at, to),
            What::Reserved { target, on } => self.turn(target, |cpu| cpu.reserved = on),
            What::Online { target, up } => self.turn(target, |cpu| cpu.offline = !up),
            _ => {}
        }
    }

    /// Emits all spans that are still open.
    pub fn finish(&mut self, at: u64, to: &mut impl SpanSink) {
        for id in 0..self.tasks.len() as u32 {
            let (task, row) = (TaskId(id), self.tasks[id as usize]);
            if row.state != State::Off && row.since < at {
                to.stretch(&Stretch { task, state: row.state, from: row.since, to: at, wait: None });
                self.tasks[id as usize].since = at;
            }
        }
        for cpu in (0..self.cpus.len() as u32).map(CpuId) {
            self.change(cpu, at, 0, 0, to);
        }
    }

    fn state(&self, task: TaskId) -> State {
        self.tasks.get(task.index()).map(|row| row.state).unwrap_or_default()
    }

    /// Returns the CPU that a task would wait for if it weren't throttled.
    pub fn held(&self, task: TaskId) -> Option<CpuId> {
        self.tasks.get(task.index()).and_then(|row| row.held)
    }

    /// Returns whether the task is throttled, runnable or not.
    pub fn is_throttled(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|row| row.throttled)
    }

    fn throttle(&mut self, task: TaskId, on: bool, at: u64, to: &mut impl SpanSink) {
        if task.is_idle() {
            return;
        }
        let row = self.row(task);
        row.throttled = on;
        match (row.state, row.held.take()) {
            (State::Waiting(cpu), _) if on => self.becomes(task, State::Waiting(cpu), Begun::Left, at, to),
            (_, Some(cpu)) => self.becomes(task, State::Waiting(cpu), Begun::Left, at, to),
            _ => {}
        }
    }

    /// Returns whether the task waits for a CPU.
    pub fn waits(&self, task: TaskId) -> bool {
        matches!(self.state(task), State::Waiting(_))
    }

    fn row(&mut self, task: TaskId) -> &mut Task {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, Task::default());
        }
        &mut self.tasks[task.index()]
    }

    fn becomes(&mut self, task: TaskId, then: State, begun: Begun, at: u64, to: &mut impl SpanSink) {
        if task.is_idle() {
            return;
        }
        let row = self.row(task);
        let before = *row;
        row.throttled &= !matches!(then, State::Running(_));
        row.held = None;
        let then = match then {
            State::Waiting(cpu) if row.throttled => {
                row.held = Some(cpu);
                State::Off
            }
            then => then,
        };
        row.state = then;
        row.since = at;
        let (waited, waits) = (is_waiting(before.state), is_waiting(then));
        if waits && !waited {
            (row.waits_since, row.begun) = (at, begun);
        }
        let wait =
            (waited && matches!(then, State::Running(_))).then_some((before.waits_since, before.begun));
        if before.state != State::Off {
            to.stretch(&Stretch { task, state: before.state, from: before.since, to: at, wait });
        }
        self.waiting = self.waiting + u64::from(waits) - u64::from(waited);
        if before.state.cpu() != then.cpu() {
            let heavy = weight(before.nice);
            before.state.cpu().into_iter().for_each(|cpu| self.change(cpu, at, -1, -heavy, to));
            then.cpu().into_iter().for_each(|cpu| self.change(cpu, at, 1, heavy, to));
        }
    }

    fn change(&mut self, cpu: CpuId, at: u64, tasks: i64, weight: i64, to: &mut impl SpanSink) {
        let Some(row) = self.cpus.get_mut(cpu.index()) else { return };
        let (before, since) = (row.level, row.since);
        row.level.tasks = before.tasks.saturating_add_signed(tasks);
        row.level.weight = before.weight.saturating_add_signed(weight);
        row.since = at;
        if before.tasks > 0 && since < at {
            to.level(cpu, before, since, at);
        }
    }

    fn runs(&mut self, cpu: CpuId, runs: bool) {
        self.turn(cpu, |cpu| cpu.running = runs);
    }

    /// Applies a change to a CPU that may make it idle or busy.
    fn turn(&mut self, cpu: CpuId, change: impl FnOnce(&mut Cpu)) {
        let Some(row) = self.cpus.get_mut(cpu.index()) else { return };
        let idled = row.could_run();
        change(row);
        self.idle = self.idle + u64::from(row.could_run()) - u64::from(idled);
    }
}

fn is_waiting(state: State) -> bool {
    matches!(state, State::Waiting(_))
}

fn weight(nice: i8) -> i64 {
    i64::from(load_weight_of_nice(nice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::Instant;

    /// Collects the spans of waiting tasks.
    #[derive(Default)]
    struct Collector(Vec<(u32, u64, u64)>);

    impl SpanSink for Collector {
        fn stretch(&mut self, stretch: &Stretch) {
            if let State::Waiting(cpu) = stretch.state {
                self.0.push((cpu.0, stretch.from, stretch.to));
            }
        }

        fn level(&mut self, _: CpuId, _: Level, _: u64, _: u64) {}
    }

    #[test]
    fn a_throttled_task_does_not_wait() {
        let (a, b, cpu) = (TaskId(0), TaskId(1), CpuId(0));
        let (mut follow, mut collector) = (Follow::default(), Collector::default());
        follow.start(2);
        let mut receive = |at: u64, what: What| {
            follow.event(&Event { at: Instant::from_ns(at), cpu, what }, at, &mut collector);
            (follow.idle_and_waiting(), follow.held(b), follow.runnable(cpu))
        };
        let switch = |prev, why, next| What::Switch { prev, why, next };
        receive(0, switch(TaskId::IDLE, Why::WasIdle, a));
        assert_eq!(receive(10, What::Wakeup { task: b, target: cpu, waker: a }), ((1, 1), None, 2));
        assert_eq!(receive(20, What::Throttled { task: b, on: true, group: 0 }), ((1, 0), Some(cpu), 1));
        assert_eq!(
            receive(25, What::Migrate { task: b, from: cpu, to: CpuId(1) }),
            ((1, 0), Some(CpuId(1)), 1)
        );
        assert_eq!(receive(30, What::Throttled { task: b, on: false, group: 0 }), ((1, 1), None, 1));
        receive(35, What::Migrate { task: b, from: CpuId(1), to: cpu });
        assert_eq!(receive(40, switch(a, Why::Blocked, b)), ((1, 0), None, 1));
        // It is throttled while it runs, and leaves its CPU. Switching to it ends the throttling.
        receive(50, What::Throttled { task: b, on: true, group: 0 });
        assert_eq!(receive(60, switch(b, Why::Preempted, TaskId::IDLE)), ((2, 0), Some(cpu), 0));
        assert_eq!(receive(70, switch(TaskId::IDLE, Why::WasIdle, b)), ((1, 0), None, 1));
        assert_eq!(receive(80, switch(b, Why::Preempted, TaskId::IDLE)), ((2, 1), None, 1));
        assert_eq!(receive(85, What::Reserved { target: CpuId(1), on: true }), ((1, 1), None, 1));
        assert_eq!(receive(86, What::Reserved { target: CpuId(1), on: false }), ((2, 1), None, 1));
        assert_eq!(receive(90, What::Exit { task: b }), ((2, 0), None, 0));
        assert_eq!(collector.0, [(0, 10, 20), (1, 30, 35), (0, 35, 40), (0, 80, 90)]);
    }
}
