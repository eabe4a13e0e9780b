//! What a scheduler reports of its decisions: which CPUs it looked at, which groups it compared and
//! what it took for their loads, what it chose. It reports them with `schedulers/include/policy.h`.
//!
//! What it says is its own word: nothing here is checked against what it did. Only that it can be drawn
//! and added up is: CPUs are the machine's.

mod raw;

pub use raw::{Raw, read, read_with_classes};

use keel_abi::{CpuId, CpuSet, Pid};

/// The ring buffer in which a scheduler reports its decisions.
pub const RING: &str = "policy_events";

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What was decided.
    pub kind: Kind,
    /// The domain's level, from 0, the lowest.
    pub level: u32,
    /// Who decided, or on whose behalf.
    pub cpu: CpuId,
    /// The woken or new task; 0 when it was about no single one.
    pub pid: Pid,
    /// The CPU chosen or, when balancing, the busiest.
    pub chosen: Option<CpuId>,
    /// Tasks that moved.
    pub moved: u32,
    /// What came of it; nothing where the scheduler did not say.
    pub outcome: Option<Outcome>,
    /// CPUs that were looked at.
    pub considered: CpuSet,
    /// How many groups of CPUs were compared.
    pub nr_groups: u32,
    /// The first [`MAX_GROUPS`] of them, the decider's own before all others.
    pub groups: Vec<Group>,
}

impl Policy {
    /// One of which no more is known than what was decided and which CPU decided it.
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

/// Groups that a decision reports.
pub const MAX_GROUPS: usize = 16;

/// A group of CPUs, as the scheduler saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its load, in the scheduler's own unit.
    pub load: u64,
    /// The first of its CPUs.
    pub first_cpu: CpuId,
    /// How many it has; they need not be neighbours.
    pub cpus: u16,
    /// Tasks that ran or waited there.
    pub runnable: u16,
    /// How busy that makes it; none where the scheduler does not say.
    pub class: Option<GroupClass>,
}

/// How busy a group is, as Linux's fair class tells groups apart (`enum group_type`); busier ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupClass {
    /// It could do more.
    #[default]
    HasSpare,
    /// It could not, but no task waits for long.
    FullyBusy,
    /// One of its CPUs is too slow for its task, or has other work besides it.
    Misfit,
    /// It is a core with several tasks, and the CPU that asks is idle.
    SmtBalance,
    /// Balancing below failed, because tasks may not move to where CPUs are free.
    Imbalanced,
    /// Tasks wait.
    Overloaded,
}

impl GroupClass {
    /// All of them, from number 1 on.
    pub const ALL: [Self; 6] =
        [Self::HasSpare, Self::FullyBusy, Self::Misfit, Self::SmtBalance, Self::Imbalanced, Self::Overloaded];

    /// As text, such as `fully busy`.
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

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A periodic balancing.
    Balance,
    /// A balancing by a CPU that is about to idle.
    NewIdle,
    /// A balancing on behalf of an idle CPU, by another.
    Nohz,
    /// Where a woken task goes.
    Wakeup,
    /// Where a new task goes.
    Fork,
    /// What a CPU's domain at a level consists of.
    Domains,
}

impl Kind {
    /// All of them, from number 1 on.
    pub const ALL: [Self; 6] =
        [Self::Balance, Self::NewIdle, Self::Nohz, Self::Wakeup, Self::Fork, Self::Domains];

    /// Is it about which CPU tasks should come from, and not about one task?
    pub const fn is_balancing(self) -> bool {
        matches!(self, Self::Balance | Self::NewIdle | Self::Nohz)
    }
}

/// What came of a decision.
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
    /// Nobody waits there.
    Nobody,
    /// A CPU was chosen.
    Chose,
}

impl Outcome {
    /// All of them, from number 1 on.
    pub const ALL: [Self; 6] =
        [Self::Moved, Self::Balanced, Self::NotDesignated, Self::Pinned, Self::Nobody, Self::Chose];
}
