//! An input of a search: everything that determines a run, besides the scheduler.
//!
//! Every [`Genome`] that went through [`Genome::repaired`] gives a run that the readers of workloads and machines
//! accept.

use keel_abi::Span;
use serde::{Deserialize, Serialize};

/// The maximum number of CPUs of a machine.
pub const MAX_CPUS: u32 = 32;
/// The maximum number of task specs.
pub const MAX_TASKS: usize = 12;
/// The maximum number of threads that a spec starts with.
pub const MAX_INSTANCES: u8 = 32;
/// The maximum number of steps of a task.
pub const MAX_STEPS: usize = 12;
/// The maximum number of entries of a timeline.
pub const MAX_HAPPENINGS: usize = 6;
/// The longest run.
pub const MAX_DURATION_US: u32 = 45_000_000;
/// The maximum of CPUs times the length of a run: a busy CPU always ticks, and each tick takes time to simulate.
pub const MAX_CPU_US: u32 = 64_000_000;
/// The longest sleep, and the longest work step.
pub const MAX_STEP_US: u32 = 2_000_000;
/// The number of cgroups that tasks can be in.
pub const GROUPS: u8 = 3;
/// The number of mutexes that tasks can take.
pub const MUTEXES: u8 = 3;

/// An input.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Genome {
    /// The machine's shape.
    pub machine: Shape,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Events from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Happening>,
    /// The scheduler's global variables, chosen among those that may vary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, i64)>,
    /// Whether there are interrupts, kernel threads and other noise.
    pub noise: bool,
    /// The seed of all random numbers of the run.
    pub seed: u64,
    /// The length in virtual time, in microseconds.
    pub duration_us: u32,
}

/// A machine of equal nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// NUMA nodes.
    pub nodes: u32,
    /// Last-level caches per node.
    pub llcs: u32,
    /// Cores per cache.
    pub cores: u32,
    /// Threads per core.
    pub threads: u32,
}

/// A task spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Task {
    /// The number of threads that start by themselves.
    pub instances: u8,
    /// When they start, in microseconds.
    pub delay_us: u32,
    /// The nice value.
    pub nice: i8,
    /// Bit `n` stands for CPU `n` modulo the machine's; 0 for all CPUs.
    pub cpus: u32,
    /// The policy.
    pub policy: Policy,
    /// The number of passes. 0 for endless.
    pub passes: u32,
    /// The cgroup, if not the root.
    pub group: Option<u8>,
    /// Each pass begins once this task, an earlier one, has woken it.
    pub waker: Option<u8>,
    /// The waker waits until the pass is over.
    pub replies: bool,
    /// A later task: each pass starts one more thread of it.
    pub forks: Option<u8>,
    /// What a pass does.
    pub steps: Vec<Step>,
}

/// A scheduling policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`.
    #[default]
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`.
    Fifo,
}

/// A step of a pass. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Works.
    Run(u32),
    /// Sleeps.
    Sleep(u32),
    /// Sleeps until this long after the last time.
    Timer(u32),
    /// Works with a mutex held.
    Locked(u8, u32),
    /// Works while it may not leave its CPU.
    Pinned(u32),
    /// Yields its CPU.
    Yield,
    /// Accesses this many KiB of memory.
    Touch(u32),
    /// Sets its nice value.
    Nice(i8),
    /// Sets its own affinity, as in [`Task::cpus`].
    Cpus(u32),
}

/// An event from outside. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Happening {
    /// When.
    pub at_us: u32,
    /// The interval at which it repeats. 0 for once.
    pub every_us: u32,
    /// The event.
    pub what: Act,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// This CPU goes offline, and returns after this time.
    Offline(u32, u32),
    /// This task's affinity is set, as in [`Task::cpus`].
    Cpus(u8, u32),
    /// This task's nice value is set.
    Nice(u8, i8),
}

/// A global variable and its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The variable.
    pub name: String,
    /// The minimum value.
    pub low: i64,
    /// The maximum value.
    pub high: i64,
}

impl Default for Shape {
    fn default() -> Self {
        Self { nodes: 1, llcs: 1, cores: 1, threads: 1 }
    }
}

impl Shape {
    /// Returns the number of CPUs.
    pub fn cpus(self) -> u32 {
        self.nodes * self.llcs * self.cores * self.threads
    }
}

/// The size of an input, in units that people count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// CPUs.
    pub cpus: u32,
    /// Threads that start by themselves.
    pub threads: u32,
    /// Steps of all specs.
    pub steps: usize,
    /// Entries of the timeline, and settings.
    pub events: usize,
    /// Virtual time.
    pub duration_us: u32,
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cpus, threads, steps, events, .. } = self;
        let many = |n: u64, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
        let time = Span::from_us(u64::from(self.duration_us));
        write!(
            f,
            "{}, {}, {}, {}, {time}",
            many(u64::from(*cpus), "CPU"),
            many(u64::from(*threads), "thread"),
            many(*steps as u64, "step"),
            many(*events as u64, "event")
        )
    }
}

impl Genome {
    /// Returns its size.
    pub fn size(&self) -> Size {
        Size {
            cpus: self.machine.cpus(),
            threads: self.tasks.iter().map(|task| u32::from(task.instances)).sum(),
            steps: self.tasks.iter().map(|task| task.steps.len()).sum(),
            events: self.timeline.len() + self.settings.len(),
            duration_us: self.duration_us,
        }
    }

    /// Returns the nearest input that gives a run: numbers in their ranges, and no reference to missing items. Valid
    /// parts stay unchanged.
    #[must_use]
    pub fn repaired(mut self, ranges: &[Range]) -> Self {
        self.machine = self.machine.repaired();
        self.tasks.truncate(MAX_TASKS);
        if self.tasks.is_empty() {
            self.tasks.push(Task { instances: 1, ..Task::default() });
        }
        let count = self.tasks.len();
        for (at, task) in self.tasks.iter_mut().enumerate() {
            task.repair(at, count);
        }
        // A thread that a pass creates must end, or their number grows without bound.
        let forked: Vec<usize> = self.tasks.iter().filter_map(|task| task.forks.map(usize::from)).collect();
        for &at in &forked {
            let task = &mut self.tasks[at];
            task.passes = task.passes.clamp(1, 100);
            (task.waker, task.replies) = (None, false);
        }
        // Others would wait forever for a waker that never comes.
        for (at, task) in self.tasks.iter_mut().enumerate() {
            task.instances = task.instances.max(u8::from(!forked.contains(&at)));
        }
        self.timeline.truncate(MAX_HAPPENINGS);
        let cpus = self.machine.cpus();
        self.timeline.retain(|happening| !matches!(happening.what, Act::Offline(..)) || cpus > 1);
        for happening in &mut self.timeline {
            happening.repair(cpus, count);
        }
        let named = |name: &str| ranges.iter().find(|range| range.name == name);
        self.settings.retain(|(name, _)| named(name).is_some());
        for (name, value) in &mut self.settings {
            let range = named(name).expect("the others are gone");
            *value = (*value).clamp(range.low, range.high);
        }
        self.settings.sort();
        self.settings.dedup_by(|a, b| a.0 == b.0);
        self.duration_us = self.duration_us.clamp(1, MAX_DURATION_US.min(MAX_CPU_US / cpus));
        self
    }
}

impl Shape {
    fn repaired(self) -> Self {
        let mut shape = Self {
            nodes: self.nodes.clamp(1, 4),
            llcs: self.llcs.clamp(1, 4),
            cores: self.cores.clamp(1, MAX_CPUS),
            threads: self.threads.clamp(1, 2),
        };
        shape.cores = shape.cores.min((MAX_CPUS / (shape.nodes * shape.llcs * shape.threads)).max(1));
        while shape.cpus() > MAX_CPUS {
            shape.llcs -= 1;
        }
        shape
    }
}

impl Task {
    fn repair(&mut self, at: usize, count: usize) {
        self.instances = self.instances.min(MAX_INSTANCES);
        self.delay_us = self.delay_us.min(MAX_DURATION_US);
        self.nice = self.nice.clamp(-20, 19);
        self.passes = self.passes.min(100_000);
        self.group = self.group.map(|group| group % GROUPS);
        self.waker = self.waker.filter(|&waker| usize::from(waker) < at);
        self.replies &= self.waker.is_some();
        self.forks = self.forks.filter(|&forked| usize::from(forked) > at && usize::from(forked) < count);
        self.steps.truncate(MAX_STEPS);
        for step in &mut self.steps {
            step.repair();
        }
        // Time must pass in a pass.
        if !self.steps.iter().any(|step| step.takes_time()) {
            self.steps.truncate(MAX_STEPS - 1);
            self.steps.push(Step::Run(100));
        }
    }
}

impl Step {
    fn repair(&mut self) {
        match self {
            Self::Run(us) | Self::Sleep(us) | Self::Timer(us) | Self::Pinned(us) => {
                *us = (*us).clamp(1, MAX_STEP_US);
            }
            Self::Locked(mutex, us) => {
                *mutex %= MUTEXES;
                *us = (*us).clamp(1, MAX_STEP_US);
            }
            Self::Touch(kib) => *kib = (*kib).clamp(1, 65_536),
            Self::Nice(nice) => *nice = (*nice).clamp(-20, 19),
            Self::Yield | Self::Cpus(_) => {}
        }
    }

    fn takes_time(self) -> bool {
        matches!(self, Self::Run(_) | Self::Locked(..) | Self::Pinned(_))
    }
}

impl Happening {
    fn repair(&mut self, cpus: u32, tasks: usize) {
        self.at_us = self.at_us.min(MAX_DURATION_US);
        if self.every_us > 0 {
            self.every_us = self.every_us.clamp(100, MAX_DURATION_US);
        }
        match &mut self.what {
            // CPU 0 stays.
            Act::Offline(cpu, back_us) => {
                *cpu = 1 + cpu.wrapping_sub(1) % (cpus - 1);
                *back_us = (*back_us).clamp(1, MAX_DURATION_US);
            }
            Act::Cpus(task, _) => *task = (usize::from(*task) % tasks) as u8,
            Act::Nice(task, nice) => {
                *task = (usize::from(*task) % tasks) as u8;
                *nice = (*nice).clamp(-20, 19);
            }
        }
    }
}
