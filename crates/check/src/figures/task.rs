//! One task's figures.

use super::names::NameId;
use keel_abi::cpuset::MAX_CPUS;
use keel_abi::{CpuId, Instant, Pid, Span, TaskId};
use keel_trace::Why;

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
        match self.cpus.binary_search_by_key(&cpu, |&(cpu, _)| cpu) {
            Ok(at) => self.cpus[at].1 += span,
            Err(at) => self.cpus.insert(at, (cpu, span)),
        }
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

/// A living task.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Nanoseconds by CPU, up to the highest CPU it ran on: one look-up per switch, while a sorted list would cost a
    /// cache miss per step.
    by_cpu: Vec<u64>,
    pub(super) state: State,
    /// The kernel keeps it off every CPU.
    pub(super) throttled: bool,
    pub(super) last_cpu: Option<CpuId>,
    pub(super) name: Option<NameId>,
    pub(super) sums: TaskFigures,
}

impl From<TaskId> for Row {
    fn from(task: TaskId) -> Self {
        let sums = TaskFigures { task, ..TaskFigures::default() };
        Self { by_cpu: Vec::new(), state: State::Asleep, throttled: false, last_cpu: None, name: None, sums }
    }
}

impl Row {
    /// It changes its state at `at`, throttled or not.
    #[inline]
    pub(super) fn turns(&mut self, at: Instant, state: State) {
        self.state = if self.throttled { state.throttled(at, true) } else { state };
    }

    /// Adds time on a CPU.
    #[inline]
    pub(super) fn ran(&mut self, cpu: CpuId, span: Span) {
        self.sums.cpu += span;
        match self.by_cpu.get_mut(cpu.index()) {
            Some(ns) => *ns += span.as_ns(),
            None => self.ran_first(cpu, span),
        }
    }

    #[cold]
    fn ran_first(&mut self, cpu: CpuId, span: Span) {
        if cpu.0 < MAX_CPUS {
            self.by_cpu.resize(cpu.index() + 1, 0);
            self.by_cpu[cpu.index()] = span.as_ns();
        }
    }

    /// Its figures, with an open wait counted up to `now`.
    pub(super) fn until(&self, now: Instant) -> TaskFigures {
        let mut sums = self.sums.clone();
        let ran = self.by_cpu.iter().enumerate().filter(|&(_, &ns)| ns > 0);
        sums.cpus = ran.map(|(cpu, &ns)| (CpuId(cpu as u32), Span::from_ns(ns))).collect();
        match self.state {
            State::Waiting { since, .. } => sums.wait += now.since(since),
            State::Throttled { waited, .. } => sums.wait += waited,
            State::Asleep | State::Running => {}
        }
        sums
    }
}
