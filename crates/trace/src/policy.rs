//! A scheduler's reports of its decisions: the CPUs that it looked at, the groups that it compared with their assumed
//! loads, and its choice. It reports them with `schedulers/include/policy.h`.
//!
//! These are the scheduler's own claims: they are not compared with what it did. They are only checked so that they can
//! be drawn and added up: CPUs must be the machine's.

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
    /// Tasks that moved.
    pub moved: u32,
    /// The outcome; `None` if not reported.
    pub outcome: Option<Outcome>,
    /// The CPUs that it looked at.
    pub considered: CpuSet,
    /// The number of compared groups of CPUs.
    pub nr_groups: u32,
    /// The first [`MAX_GROUPS`] of them, beginning with the deciding CPU's own.
    pub groups: Vec<Group>,
}

impl Policy {
    /// A decision with only its kind and its deciding CPU known.
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

/// The most groups that a decision reports.
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
    /// Tasks that ran or waited there.
    pub runnable: u16,
    /// How busy it is; `None` if not reported.
    pub class: Option<GroupClass>,
}

/// How busy a group is, by the classes of Linux's fair class (`enum group_type`); busier ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupClass {
    /// It could do more.
    #[default]
    HasSpare,
    /// It could not, but no task waits for long.
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

    /// As text, like `fully busy`.
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

    /// Is it about balancing, rather than about one task?
    pub const fn is_balancing(self) -> bool {
        matches!(self, Self::Balance | Self::NewIdle | Self::Nohz)
    }
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Tasks moved.
    Moved,
    /// The decider's own group is no less loaded than the others.
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
