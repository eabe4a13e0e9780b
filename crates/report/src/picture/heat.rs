//! How many tasks were runnable on each CPU, averaged over buckets of time.
//!
//! There is a fixed number of buckets; when the run outgrows them, neighbours are joined and every
//! bucket lasts twice as long. A waiting task counts where its runqueue is.

use keel_abi::{CpuId, Instant, TaskId, Topology};
use keel_trace::{Event, Meta, What, Why};

/// Cells over all CPUs that are kept at most: 16 bytes each.
const CELLS: usize = 1 << 19;
/// Buckets that are kept at most.
const BUCKETS: usize = 2048;
/// A bucket's first length is 2 to this power, in nanoseconds.
const FIRST_SHIFT: u32 = 10;

/// One CPU for one bucket's time; sums in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// Runnable tasks, running ones included, times time.
    pub(super) load: u64,
    /// Time idle while a task waited.
    pub(super) wasted: u64,
}

impl Cell {
    fn add(&mut self, other: Self) {
        self.load += other.load;
        self.wasted += other.wasted;
    }
}

/// The number of runnable tasks on a CPU, since when.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    tasks: u64,
    since: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Off,
    Waiting(CpuId),
    Running(CpuId),
}

/// All cells.
#[derive(Debug, Default)]
pub(super) struct Heat {
    pub(super) topology: Option<Topology>,
    start: u64,
    now: u64,
    shift: u32,
    buckets: usize,
    cells: Vec<Cell>,
    levels: Vec<Level>,
    tasks: Vec<State>,
}

impl Heat {
    /// The run's length in nanoseconds.
    pub(super) fn duration(&self) -> u64 {
        self.now - self.start
    }

    /// Nanoseconds from the run's beginning.
    pub(super) fn since_start(&self, at: Instant) -> u64 {
        at.as_ns().saturating_sub(self.start)
    }

    /// Tasks that run or wait on a CPU just now.
    pub(super) fn runnable(&self, cpu: CpuId) -> u64 {
        self.levels.get(cpu.index()).map_or(0, |level| level.tasks)
    }

    /// CPUs without a task just now, and tasks that wait.
    pub(super) fn idle_and_waiting(&self) -> (usize, u64) {
        let idle = self.levels.iter().filter(|level| level.tasks == 0).count();
        (idle, self.levels.iter().map(|level| level.tasks.saturating_sub(1)).sum())
    }

    /// A bucket's length in nanoseconds.
    pub(super) fn bucket_ns(&self) -> u64 {
        1 << self.shift
    }

    /// The cells of `cpu` that the run reached.
    pub(super) fn row(&self, cpu: CpuId) -> &[Cell] {
        let used = (self.duration().div_ceil(self.bucket_ns()) as usize).min(self.buckets);
        let from = cpu.index() * self.buckets;
        &self.cells[from..from + used]
    }

    pub(super) fn meta(&mut self, at: Instant, meta: &Meta) {
        if let (Meta::Start { topology, .. }, None) = (meta, &self.topology) {
            let cpus = topology.cpus() as usize;
            let most = (CELLS / cpus).clamp(64, BUCKETS);
            self.buckets = 1 << most.ilog2();
            (self.start, self.now, self.shift) = (at.as_ns(), at.as_ns(), FIRST_SHIFT);
            self.cells = vec![Cell::default(); cpus * self.buckets];
            self.levels = vec![Level { tasks: 0, since: at.as_ns() }; cpus];
            self.topology = Some(topology.clone());
        }
        self.now = at.as_ns();
    }

    pub(super) fn events(&mut self, events: &[Event]) {
        for event in events {
            self.now = event.at.as_ns();
            self.event(event);
        }
    }

    fn event(&mut self, event: &Event) {
        match event.what {
            What::Switch { prev, next, .. } if prev == next => {}
            What::Switch { prev, why, next } => {
                let then = match why {
                    Why::Preempted | Why::Yielded => State::Waiting(event.cpu),
                    Why::Blocked | Why::Exited | Why::WasIdle => State::Off,
                };
                self.becomes(prev, then);
                self.becomes(next, State::Running(event.cpu));
            }
            What::Wakeup { task, target, .. } | What::Fork { child: task, target, .. }
                if self.state(task) == State::Off =>
            {
                self.becomes(task, State::Waiting(target));
            }
            What::Migrate { task, to, .. } if self.waits(task) => self.becomes(task, State::Waiting(to)),
            What::Exit { task } if self.waits(task) => self.becomes(task, State::Off),
            _ => {}
        }
    }

    fn state(&self, task: TaskId) -> State {
        self.tasks.get(task.index()).copied().unwrap_or_default()
    }

    fn waits(&self, task: TaskId) -> bool {
        matches!(self.state(task), State::Waiting(_))
    }

    fn becomes(&mut self, task: TaskId, then: State) {
        if task.is_idle() {
            return;
        }
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, State::Off);
        }
        let before = std::mem::replace(&mut self.tasks[task.index()], then);
        let cpu = |state| match state {
            State::Off => None,
            State::Waiting(cpu) | State::Running(cpu) => Some(cpu),
        };
        if cpu(before) != cpu(then) {
            cpu(before).into_iter().for_each(|cpu| self.change(cpu, -1));
            cpu(then).into_iter().for_each(|cpu| self.change(cpu, 1));
        }
    }

    fn change(&mut self, cpu: CpuId, step: i64) {
        let now = self.now;
        let Some(level) = self.levels.get_mut(cpu.index()) else { return };
        let Level { tasks, since } = *level;
        *level = Level { tasks: tasks.saturating_add_signed(step), since: now };
        if tasks > 0 {
            self.spread(cpu, since, now, |ns| Cell { load: ns * tasks, wasted: 0 });
        }
    }

    /// `cpu` idled while a task waited.
    pub(super) fn wasted(&mut self, cpu: CpuId, start: Instant, end: Instant) {
        self.spread(cpu, start.as_ns(), end.as_ns(), |ns| Cell { load: 0, wasted: ns });
    }

    /// Counts what is under way.
    pub(super) fn finish(&mut self) {
        for cpu in (0..self.levels.len() as u32).map(CpuId) {
            self.change(cpu, 0);
        }
    }

    /// Adds to the cells of `from..to` what `cell` says of the nanoseconds in each.
    fn spread(&mut self, cpu: CpuId, from: u64, to: u64, cell: impl Fn(u64) -> Cell) {
        if cpu.index() >= self.levels.len() || to <= from {
            return;
        }
        let (mut at, end) = (from - self.start.min(from), to - self.start.min(to));
        while end > (self.buckets as u64) << self.shift {
            self.coarsen();
        }
        let row = cpu.index() * self.buckets;
        while at < end {
            let bucket = at >> self.shift;
            let until = ((bucket + 1) << self.shift).min(end);
            self.cells[row + bucket as usize].add(cell(until - at));
            at = until;
        }
    }

    #[cold]
    fn coarsen(&mut self) {
        for row in self.cells.chunks_mut(self.buckets) {
            for at in 0..row.len() {
                let pair = [2 * at, 2 * at + 1].map(|i| row.get(i).copied().unwrap_or_default());
                row[at] = Cell::default();
                pair.into_iter().for_each(|cell| row[at].add(cell));
            }
        }
        self.shift += 1;
    }
}
