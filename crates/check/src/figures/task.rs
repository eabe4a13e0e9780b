//! One task's figures.

use super::by_cpu::{ByCpu, add_to};
use super::names::NameId;
use keel_abi::fetch::fetch;
use keel_abi::{CpuId, Instant, Pid, Span, TaskId};
use keel_trace::Why;
use std::sync::Arc;

/// The figures of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFigures {
    /// Its id within the stream.
    pub task: TaskId,
    /// Its pid.
    pub pid: Pid,
    /// Its name: untrusted text.
    pub name: String,
    /// When it first ran, as far as the stream shows.
    pub first_run: Option<Instant>,
    /// Time on CPUs.
    pub cpu: Span,
    /// Time runnable but not running.
    pub wait: Span,
    /// How often it left a CPU.
    pub switches: u64,
    /// How often it started on another CPU than it last ran on.
    pub migrations: u64,
    /// How often it lost its CPU while it wanted it.
    pub preemptions: u64,
    /// Units of throughput that it did.
    pub units: u64,
    /// Its time on each CPU that it ran on, ascending.
    pub cpus: Vec<(CpuId, Span)>,
}

impl TaskFigures {
    /// Adds time on a CPU.
    pub(super) fn ran(&mut self, cpu: CpuId, span: Span) {
        self.cpu += span;
        add_to(&mut self.cpus, cpu, span);
    }

    /// Adds another task's figures to this sum.
    pub(super) fn add(&mut self, other: &Self) {
        self.wait += other.wait;
        self.switches += other.switches;
        self.migrations += other.migrations;
        self.preemptions += other.preemptions;
        self.units += other.units;
        other.cpus.iter().for_each(|&(cpu, span)| self.ran(cpu, span));
    }
}

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Neither running nor runnable, as far as is known.
    Asleep,
    /// Runnable.
    Waiting {
        /// Since when.
        since: Instant,
        /// By a wakeup or fork, so that its delay counts.
        woken: bool,
    },
    /// Runnable, but kept off every CPU.
    Throttled {
        /// How long it had waited before.
        waited: Span,
        /// That wait began with a wakeup or fork.
        woken: bool,
    },
    /// On a CPU.
    Running,
}

impl State {
    /// The state of a task that left a CPU at `at`.
    pub(super) fn after(why: Why, at: Instant) -> Self {
        match why {
            Why::Preempted | Why::Yielded => Self::Waiting { since: at, woken: false },
            Why::WasIdle | Why::Blocked | Why::Exited => Self::Asleep,
        }
    }

    /// How long it has waited at `at`, and whether its delay counts; `None` if it does not wait.
    #[inline(always)]
    pub(super) fn waited(self, at: Instant) -> Option<(Span, bool)> {
        // Most tasks that are switched to have waited.
        if let Self::Waiting { since, woken } = self {
            return Some((at.after(since), woken));
        }
        match self {
            Self::Throttled { waited, woken } => Some((waited, woken)),
            _ => None,
        }
    }

    /// The state of a task that is throttled or released at `at`: throttled time is not part of a wait.
    pub(super) fn throttled(self, at: Instant, on: bool) -> Self {
        match (self, on) {
            (Self::Waiting { since, woken }, true) => Self::Throttled { waited: at.since(since), woken },
            (Self::Throttled { waited, woken }, false) => {
                Self::Waiting { since: Instant::ZERO + at.since(Instant::ZERO).saturating_sub(waited), woken }
            }
            (same, _) => same,
        }
    }
}

/// A living task. What each wakeup and switch uses comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Row {
    pub(super) state: State,
    /// As in [`TaskFigures`], as what has no comment.
    pub(super) wait: Span,
    pub(super) switches: u64,
    migrations: u64,
    /// As in [`TaskFigures`], but without a task in a blank row.
    pub(super) task: TaskId,
    /// [`NOWHERE`] if it has not run.
    last_cpu: CpuId,
    /// The kernel keeps it off every CPU.
    pub(super) throttled: bool,
    /// The number of its name.
    pub(super) name_id: NameId,
    pub(super) pid: Pid,
    by_cpu: ByCpu,
    pub(super) preemptions: u64,
    pub(super) units: u64,
    first_run: Instant,
    /// Shared with other checks.
    pub(super) name: Arc<str>,
}

/// No CPU.
const NOWHERE: CpuId = CpuId(u32::MAX);

impl From<TaskId> for Row {
    fn from(task: TaskId) -> Self {
        Self {
            by_cpu: ByCpu::default(),
            state: State::Asleep,
            throttled: false,
            last_cpu: NOWHERE,
            name: Arc::default(),
            name_id: NameId::OTHERS,
            task,
            pid: Pid(0),
            first_run: Instant::ZERO,
            wait: Span::ZERO,
            switches: 0,
            migrations: 0,
            preemptions: 0,
            units: 0,
        }
    }
}

impl Row {
    /// The row, unless it is blank; it is blank afterwards.
    pub(crate) fn take(&mut self) -> Option<Self> {
        (!self.task.is_idle()).then(|| std::mem::replace(self, Self::from(TaskId::IDLE)))
    }

    /// Returns whether it is the row of `task`.
    #[inline(always)]
    pub(crate) fn is_of(&self, task: TaskId) -> bool {
        self.task == task
    }

    /// It becomes runnable by a wakeup or fork.
    #[inline(always)]
    pub(crate) fn wakes(&mut self, at: Instant) {
        if self.state == State::Asleep {
            self.turns(at, State::Waiting { since: at, woken: true });
        }
    }

    /// It becomes runnable if it is the row of `wakee`, which is none then.
    #[inline(always)]
    pub(crate) fn wakes_if(&mut self, at: Instant, wakee: &mut Option<TaskId>) {
        if *wakee == Some(self.task) {
            self.wakes(at);
            *wakee = None;
        }
    }

    /// Requests the lines of what is often used.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        fetch(&self.state);
        fetch(&self.by_cpu);
    }

    /// Requests its time on `cpu`.
    #[inline(always)]
    pub(super) fn fetch_time(&self, cpu: CpuId) {
        self.by_cpu.fetch(cpu);
    }

    /// It changes its state at `at`, throttled or not.
    #[inline(always)]
    pub(super) fn turns(&mut self, at: Instant, state: State) {
        self.state = state;
        if self.throttled {
            self.throttles(at);
        }
    }

    /// Its new state begins at `at` while it is throttled.
    #[cold]
    #[inline(never)]
    fn throttles(&mut self, at: Instant) {
        self.state = self.state.throttled(at, true);
    }

    /// Adds time on `cpu`, one of `cpus`.
    #[inline(always)]
    pub(super) fn ran(&mut self, cpu: CpuId, span: Span, cpus: u32) {
        self.by_cpu.add(cpu, span, cpus);
    }

    /// It starts running on `cpu`.
    #[inline(always)]
    pub(super) fn runs(&mut self, at: Instant, cpu: CpuId) {
        if self.last_cpu == cpu {
            return;
        }
        match self.last_cpu {
            NOWHERE => self.first_run = at,
            _ => self.migrations += 1,
        }
        self.last_cpu = cpu;
    }

    /// Its figures, a wait under way counted until `now`.
    pub(super) fn until(self, now: Instant) -> TaskFigures {
        let waits = match self.state {
            State::Waiting { since, .. } => now.since(since),
            State::Throttled { waited, .. } => waited,
            State::Asleep | State::Running => Span::ZERO,
        };
        TaskFigures {
            task: self.task,
            pid: self.pid,
            name: self.name.as_ref().into(),
            first_run: (self.last_cpu != NOWHERE).then_some(self.first_run),
            cpu: self.by_cpu.total(),
            wait: self.wait + waits,
            switches: self.switches,
            migrations: self.migrations,
            preemptions: self.preemptions,
            units: self.units,
            cpus: self.by_cpu.spans(),
        }
    }
}
