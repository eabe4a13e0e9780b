//! The run in numbers: switches, wakeups, CPU time by task and CPU, waiting.
//!
//! Counting follows Linux where Linux counts: a switch is a change of the task on a CPU, including to and from idle
//! (`ctxt` in `/proc/stat`); a task's switches are the times it left a CPU (`nr_switches` in `/proc/PID/sched`); a
//! preemption is a switch away from a task that wanted to continue (`nr_involuntary_switches`). A migration is a task
//! that starts on another CPU than the one it last ran on.

mod by_cpu;
mod names;
mod rows;
mod task;

pub use names::{NAMES_KEPT, NameFigures};
pub(crate) use rows::Rows;
pub(crate) use task::Row;
pub use task::TaskFigures;

use crate::cpus::{Cpus, Integral};
use crate::histogram::Spread;
use crate::table::Tasks;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Class, Event, Meta, Sink, TaskInfo, What, Why};
use names::{NameId, Names};
use std::sync::Arc;
use task::State;

/// How many ended tasks keep a row of their own; the rest are summed in [`Summary::others`].
pub const ENDED_KEPT: usize = 20_000;

/// A CPU's current task, and since when it is accounted.
#[derive(Clone, Debug)]
struct Cpu {
    task: TaskId,
    since: Instant,
    offline: bool,
}

impl Default for Cpu {
    fn default() -> Self {
        Self { task: TaskId::IDLE, since: Instant::ZERO, offline: false }
    }
}

/// The scheduler's own costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Time in callbacks, including waiting for locks in them.
    pub callback: Span,
    /// Time that CPUs waited for locks.
    pub lock_wait: Span,
    /// BPF instructions executed.
    pub instructions: u64,
}

/// From wakeup or fork to running; does not include tasks that still wait at the end.
pub type Delay = Spread<Span>;

/// A run's figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// From the start to the last event.
    pub duration: Span,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Time that CPUs were online, summed over them.
    pub machine_time: Span,
    /// Context switches.
    pub switches: u64,
    /// Tasks that became runnable by a wakeup, without forks.
    pub wakeups: u64,
    /// New tasks.
    pub forks: u64,
    /// Tasks that started on another CPU than they last ran on.
    pub migrations: u64,
    /// Tasks that lost their CPU while they wanted it.
    pub preemptions: u64,
    /// Units of throughput that the workload has done.
    pub units: u64,
    /// The name of a unit.
    pub unit: String,
    /// Wakeup or fork to running.
    pub wakeup_delay: Delay,
    /// The same for tasks of one name: the first [`NAMES_KEPT`] names.
    pub names: Vec<NameFigures>,
    /// The share of the CPUs' online time in which tasks ran, 0 to 1.
    pub busy_share: f64,
    /// The scheduler's costs, as far as the stream shows.
    pub costs: Costs,
    /// Every task, by id; those without a row of their own are in `others`.
    pub tasks: Vec<TaskFigures>,
    /// The sum over ended tasks without a row of their own, and their number.
    pub others: (TaskFigures, u64),
}

impl Summary {
    /// Units per second.
    pub fn throughput(&self) -> f64 {
        match self.duration {
            Span::ZERO => 0.0,
            duration => self.units as f64 / duration.as_s_f64(),
        }
    }
}

/// Listens to a run and keeps its figures.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    wants: Class,
    start: Instant,
    now: Instant,
    cpus: Cpus<Cpu>,
    online: Integral,
    tasks: Tasks<Row>,
    ended: Vec<TaskFigures>,
    others: (TaskFigures, u64),
    names: Names,
    sums: Summary,
}

impl Figures {
    /// Listens to the events that every stream has, but not to callbacks and lock waits, which are frequent.
    pub fn new() -> Self {
        Self { wants: Class::CORE.with(Class::UNITS), ..Self::default() }
    }

    /// Also listens to callbacks and lock waits, and sums them in [`Summary::costs`].
    pub fn with_costs() -> Self {
        Self {
            wants: Class::CORE.with(Class::UNITS).with(Class::COSTS).with(Class::LOCKS),
            ..Self::default()
        }
    }

    /// The figures so far; open intervals count up to the last event.
    pub fn summary(&self) -> Summary {
        self.clone().into_summary()
    }

    /// As [`Figures::summary`], without a copy of each task.
    fn into_summary(self) -> Summary {
        self.into_summary_with(Vec::new())
    }

    /// The figures, with these rows of tasks, which were kept elsewhere.
    pub(crate) fn into_summary_with(self, rows: Vec<Row>) -> Summary {
        let Self { start, now, cpus, online, tasks, ended, others, names, mut sums, .. } = self;
        sums.duration = now.since(start);
        sums.cpus = cpus.len();
        sums.machine_time = online.at(now);
        sums.wakeup_delay = names.delays().spans();
        sums.names = names.figures();
        sums.others = others;
        sums.tasks = ended;
        sums.tasks.extend(tasks.into_rows().chain(rows).map(|row| row.until(now)));
        sums.tasks.sort_unstable_by_key(|t| t.task);
        let mut busy = Span::ZERO;
        for task in sums.tasks.iter().chain([&sums.others.0]) {
            busy += task.cpu;
            sums.migrations += task.migrations;
            sums.preemptions += task.preemptions;
        }
        for (id, cpu) in cpus.iter().enumerate().filter(|(_, cpu)| !cpu.task.is_idle()) {
            let ran = now.since(cpu.since);
            busy += ran;
            if let Ok(at) = sums.tasks.binary_search_by_key(&cpu.task, |t| t.task) {
                sums.tasks[at].ran(CpuId(id as u32), ran);
            }
        }
        if sums.machine_time > Span::ZERO {
            sums.busy_share = (busy.as_s_f64() / sums.machine_time.as_s_f64()).min(1.0);
        }
        sums
    }

    fn switch(
        &mut self,
        rows: &mut impl Rows,
        at: Instant,
        cpu: CpuId,
        (prev, why, next): (TaskId, Why, TaskId),
    ) {
        let Some(ran) = self.turns(rows, at, cpu, (prev, why, next)) else { return };
        self.leaves(rows, at, (prev, why), (cpu, ran));
        self.comes_apart(rows, at, cpu, next);
    }

    /// A CPU switches. Returns how long the previous task ran; [`Figures::leaves`] and [`Figures::comes`] are to
    /// follow. If the recording has a gap there, or it is no switch, that has been done already, and the answer is
    /// `None`.
    #[inline(always)]
    pub(crate) fn turns(
        &mut self,
        rows: &mut impl Rows,
        at: Instant,
        cpu: CpuId,
        (prev, why, next): (TaskId, Why, TaskId),
    ) -> Option<Span> {
        let on = self.cpus.get(cpu);
        if on.task != prev || prev == next {
            self.turns_oddly(rows, at, cpu, prev, why, next);
            return None;
        }
        let ran = at.after(on.since);
        (on.task, on.since) = (next, at);
        self.sums.switches += 1;
        Some(ran)
    }

    #[cold]
    #[inline(never)]
    fn turns_oddly(
        &mut self,
        rows: &mut impl Rows,
        at: Instant,
        cpu: CpuId,
        reported: TaskId,
        why: Why,
        next: TaskId,
    ) {
        let prev = self.cpus.get(cpu).task;
        if prev == next {
            return;
        }
        if reported != next {
            rows.meets(reported);
        }
        // The recording has lost how the task came to the CPU that it now leaves.
        if let Some(row) = rows.get(reported) {
            row.turns(at, State::after(why, at));
        }
        self.switch(rows, at, cpu, (prev, why, next));
    }

    /// A task left `cpu`, where it ran for so long.
    #[inline(never)]
    pub(crate) fn leaves(
        &mut self,
        rows: &mut impl Rows,
        at: Instant,
        (task, why): (TaskId, Why),
        (cpu, ran): (CpuId, Span),
    ) {
        let Some(row) = rows.get(task) else { return };
        self.sleeps(row, cpu, ran);
        if !why.is_sleep() {
            self.leaves_otherwise(rows, at, task, why);
        }
    }

    /// The task of this row left `cpu`, where it ran for so long, to sleep.
    #[inline(always)]
    pub(crate) fn sleeps(&mut self, row: &mut Row, cpu: CpuId, ran: Span) {
        row.ran(cpu, ran, self.cpus.len());
        row.switches += 1;
        row.state = State::Asleep;
    }

    /// The task of this row starts running on `cpu`.
    #[inline(always)]
    pub(crate) fn comes(&mut self, row: &mut Row, at: Instant, cpu: CpuId) {
        if let Some((waited, woken)) = row.state.waited(at) {
            row.wait.accumulate(waited);
            if woken {
                self.names.waited(row.name_id, waited);
            }
        }
        (row.state, row.throttled) = (State::Running, false);
        row.runs(at, cpu);
        // It is added to when the task leaves the CPU.
        row.fetch_time(cpu);
    }

    /// Like `comes`, wherever the row of `task` is.
    #[cold]
    #[inline(never)]
    pub(crate) fn comes_apart(&mut self, rows: &mut impl Rows, at: Instant, cpu: CpuId, task: TaskId) {
        if let Some(row) = rows.get(task) {
            self.comes(row, at, cpu);
        }
    }

    /// A task that is still running ends with the switch that follows.
    fn exit(&mut self, rows: &mut impl Rows, at: Instant, task: TaskId) {
        let Some(row) = rows.get(task) else { return };
        if row.state != State::Running {
            self.end(rows, at, task);
        }
    }

    /// A running task leaves its CPU, but not to sleep.
    #[inline(never)]
    fn leaves_otherwise(&mut self, rows: &mut impl Rows, at: Instant, task: TaskId, why: Why) {
        let Some(row) = rows.get(task) else { return };
        row.preemptions += u64::from(why == Why::Preempted);
        row.turns(at, State::after(why, at));
        if why == Why::Exited {
            self.end(rows, at, task);
        }
    }

    fn end(&mut self, rows: &mut impl Rows, at: Instant, task: TaskId) {
        let Some(row) = rows.end(task) else { return };
        let sums = row.until(at);
        if self.ended.len() < ENDED_KEPT {
            self.ended.push(sums);
        } else {
            self.others.0.add(&sums);
            self.others.1 += 1;
        }
    }

    fn online(&mut self, at: Instant, cpu: CpuId, up: bool) {
        let row = self.cpus.get(cpu);
        if row.offline == up {
            row.offline = !up;
            self.online.add(at, if up { 1 } else { -1 });
        }
    }

    /// The stream has come to `at`.
    pub(crate) fn passed(&mut self, at: Instant) {
        self.now = at;
    }

    /// An event other than a switch. Returns a task that becomes runnable, for which [`Row::wakes`] is to be called.
    #[inline(always)]
    pub(crate) fn event(&mut self, rows: &mut impl Rows, at: Instant, what: What) -> Option<TaskId> {
        match what {
            What::Wakeup { task, .. } | What::Woken { task, .. } => {
                self.sums.wakeups += 1;
                return Some(task);
            }
            What::Fork { child, .. } => {
                self.sums.forks += 1;
                return Some(child);
            }
            What::Exit { task } => self.exit(rows, at, task),
            What::Count { task, units } => self.counts(rows, task, units),
            What::Callback { took, insns, .. } => {
                self.sums.costs.callback += took;
                self.sums.costs.instructions += u64::from(insns);
            }
            What::LockWait { waited, .. } | What::LockWaits { waited } => self.sums.costs.lock_wait += waited,
            What::Online { target, up } => self.online(at, target, up),
            What::Throttled { task, on, .. } => throttled(rows, at, task, on),
            _ => {}
        }
        None
    }

    /// A task has done units of throughput.
    #[inline(always)]
    pub(crate) fn counts(&mut self, rows: &mut impl Rows, task: TaskId, units: u32) {
        self.sums.units += u64::from(units);
        if let Some(row) = rows.get(task) {
            row.units += u64::from(units);
        }
    }

    fn started(&mut self, at: Instant, cpus: u32, unit: &str) {
        (self.start, self.now) = (at, at);
        self.sums.unit = crate::finding::kept(unit);
        self.cpus.grow(cpus);
        self.online.add(at, i64::from(cpus));
    }

    /// What a task is; `name` is as it is kept.
    pub(crate) fn about(&mut self, rows: &mut impl Rows, at: Instant, info: &TaskInfo, name: &Arc<str>) {
        self.now = at;
        if let Some(row) = rows.get(info.task) {
            row.task = info.task;
            row.pid = info.pid;
            if row.name_id == NameId::OTHERS || row.name != *name {
                row.name_id = self.names.seen(name);
            }
            row.name = name.clone();
        }
    }
}

fn throttled(rows: &mut impl Rows, at: Instant, task: TaskId, on: bool) {
    if let Some(row) = rows.get(task) {
        row.throttled = on;
        row.state = row.state.throttled(at, on);
    }
}

impl Sink for Figures {
    fn wants(&self) -> Class {
        self.wants
    }

    fn events(&mut self, events: &[Event]) {
        let mut rows = std::mem::take(&mut self.tasks);
        for &Event { at, cpu, what } in events {
            if let What::Switch { prev, why, next } = what {
                self.switch(&mut rows, at, cpu, (prev, why, next));
            } else if let Some(row) = self.event(&mut rows, at, what).and_then(|task| rows.get(task)) {
                row.wakes(at);
            }
        }
        self.tasks = rows;
        if let Some(last) = events.last() {
            self.passed(last.at);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.now = at;
        match meta {
            Meta::Start { topology, unit, .. } => self.started(at, topology.cpus(), unit),
            Meta::Task(info) => {
                let mut rows = std::mem::take(&mut self.tasks);
                self.about(&mut rows, at, info, &crate::finding::shared(&info.name));
                self.tasks = rows;
            }
            Meta::Clock { .. }
            | Meta::Chance { .. }
            | Meta::Queue { .. }
            | Meta::Member { .. }
            | Meta::Asks { .. }
            | Meta::Group(_)
            | Meta::Scheduled { .. } => {}
            Meta::Unknown(_) | Meta::SchedulerExit { .. } | Meta::Policy(_) | Meta::End => {}
        }
    }
}

#[cfg(test)]
mod tests;
