//! A scheduler's reports of its decisions: the CPUs that it looked at, the groups that it compared, with their assumed
//! loads, and its choice. Schedulers report them with `schedulers/include/policy.h`.
//!
//! These are the scheduler's own claims, which are not compared with what it did. They are checked only as far as is
//! necessary to draw and sum them: the machine must have the CPUs.

mod raw;

pub use raw::{Raw, read, read_with_classes};

use keel_abi::{CpuId, CpuSet, Pid};

/// The ring buffer in which a scheduler reports its decisions.
pub const RING: &str = "policy_events";

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The kind of decision.
    pub kind: Kind,
    /// The domain's level, from 0, the lowest.
    pub level: u32,
    /// The CPU that decided, or on whose behalf the decision was made.
    pub cpu: CpuId,
    /// The woken or new task; 0 if the decision was not about a single task.
    pub pid: Pid,
    /// The CPU chosen or, when balancing, the busiest.
    pub chosen: Option<CpuId>,
    /// The number of tasks that moved.
    pub moved: u32,
    /// The outcome; `None` if not reported.
    pub outcome: Option<Outcome>,
    /// The CPUs that it looked at.
    pub considered: CpuSet,
    /// The number of groups of CPUs that it compared.
    pub nr_groups: u32,
    /// The first [`MAX_GROUPS`] groups, beginning with the deciding CPU's own.
    pub groups: Vec<Group>,
}

impl Policy {
    /// Returns a decision with only its kind and its deciding CPU known.
    pub fn of(kind: Kind, cpu: CpuId) -> Self {
        Self {
            kind,
            level: 0,
            cpu,
            pid: Pid(0),
            chosen: None,
            moved: 0,
            outcome: None,
            considered: CpuSet::new(),
            nr_groups: 0,
            groups: Vec::new(),
        }
    }
}

/// The maximum number of groups that a decision reports.
pub const MAX_GROUPS: usize = 16;

/// A group of CPUs, as the scheduler saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its load, in the scheduler's own unit.
    pub load: u64,
    /// The first of its CPUs.
    pub first_cpu: CpuId,
    /// The number of its CPUs; they need not be neighbours.
    pub cpus: u16,
    /// The number of tasks that ran or waited there.
    pub runnable: u16,
    /// How busy it is; `None` if not reported.
    pub class: Option<GroupClass>,
}

/// How busy a group is, as in Linux's fair class (`enum group_type`). Busier classes are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupClass {
    /// It has spare capacity.
    #[default]
    HasSpare,
    /// It has none, but no task waits for long.
    FullyBusy,
    /// One of its CPUs is too slow for its task, or has other work as well.
    Misfit,
    /// It is a core with several tasks, and the balancing CPU is idle.
    SmtBalance,
    /// Balancing below failed, because tasks may not move to the free CPUs.
    Imbalanced,
    /// Tasks wait.
    Overloaded,
}

impl GroupClass {
    /// All of them, from number 1 on.
    pub const ALL: [Self; 6] =
        [Self::HasSpare, Self::FullyBusy, Self::Misfit, Self::SmtBalance, Self::Imbalanced, Self::Overloaded];

    /// Returns the class as text, such as `fully busy`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::HasSpare => "has spare capacity",
            Self::FullyBusy => "fully busy",
            Self::Misfit => "has a misfit task",
            Self::SmtBalance => "a core with several tasks",
            Self::Imbalanced => "imbalanced by affinity",
            Self::Overloaded => "overloaded",
        }
    }
}

/// The kind of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Periodic balancing.
    Balance,
    /// Balancing by a CPU that is about to idle.
    NewIdle,
    /// Balancing by another CPU on behalf of an idle one.
    Nohz,
    /// The placement of a woken task.
    Wakeup,
    /// The placement of a new task.
    Fork,
    /// The groups of a CPU's domain at a level.
    Domains,
}

impl Kind {
    /// All of them, from number 1 on.
    pub const ALL: [Self; 6] =
        [Self::Balance, Self::NewIdle, Self::Nohz, Self::Wakeup, Self::Fork, Self::Domains];

    /// Returns whether it is about balancing rather than about one task.
    pub const fn is_balancing(self) -> bool {
        matches!(self, Self::Balance | Self::NewIdle | Self::Nohz)
    }
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Tasks moved.
    Moved,
    /// The deciding CPU's own group is no less loaded than the others.
    Balanced,
    /// Another CPU balances for this group.
    NotDesignated,
    /// No task there may run here.
    Pinned,
    /// No task waits there.
    Nobody,
    /// A CPU was chosen.
    Chose,
}

impl Outcome {
    /// All of them, from number 1 on.
    pub const ALL: [Self; 6] =
        [Self::Moved, Self::Balanced, Self::NotDesignated, Self::Pinned, Self::Nobody, Self::Chose];
}
