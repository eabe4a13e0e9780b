//! Cgroups of a workload: cgroup v2 with the cpu controller, as data.

use crate::Span;

/// The lowest `cpu.weight`.
pub const WEIGHT_MIN: u32 = 1;
/// The default weight of a cgroup (`CGROUP_WEIGHT_DFL`).
pub const WEIGHT_DFL: u32 = 100;
/// The highest `cpu.weight`.
pub const WEIGHT_MAX: u32 = 10_000;
/// A quota that limits nothing (`RUNTIME_INF`).
pub const QUOTA_NONE: u64 = u64::MAX;

/// A cgroup of a workload: [`CgroupId::ROOT`], or a place in [`crate::task::Workload::cgroups`] and one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CgroupId(pub u32);

impl CgroupId {
    /// The root, which is always there.
    pub const ROOT: Self = Self(0);

    /// The id of the workload's cgroup at this place of its list.
    pub const fn at(place: usize) -> Self {
        Self(place as u32 + 1)
    }

    /// Its place in the workload's list; none for the root.
    pub const fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

/// The root's `kernfs_node.id`.
const ROOT_KERNFS_ID: u64 = 1;
/// The distance from one cgroup's id to the next: the files of a cgroup's directory have the ids in between.
const KERNFS_IDS_A_CGROUP: u64 = 64;

/// `kernfs_node.id` of the cgroup with this number, in the order of creation; the root has number 0. BPF and programs
/// find cgroups by it (`bpf_cgroup_from_id()`, inode numbers).
pub const fn kernfs_id(number: u32) -> u64 {
    ROOT_KERNFS_ID + KERNFS_IDS_A_CGROUP * number as u64
}

/// The number of the cgroup with this id; none for an id that no cgroup has.
pub fn number_of_kernfs_id(id: u64) -> Option<u32> {
    let offset = id.checked_sub(ROOT_KERNFS_ID)?;
    let number = u32::try_from(offset / KERNFS_IDS_A_CGROUP).ok()?;
    offset.is_multiple_of(KERNFS_IDS_A_CGROUP).then_some(number)
}

/// `cpu.max` and `cpu.max.burst`, in microseconds. Schedulers are notified; the kernel does not throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// The period.
    pub period_us: u64,
    /// Time within a period; [`QUOTA_NONE`] for all.
    pub quota_us: u64,
    /// What may be saved up.
    pub burst_us: u64,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Self { period_us: 100_000, quota_us: QUOTA_NONE, burst_us: 0 }
    }
}

/// A cgroup as the workload describes it. Parents come before their children in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path from the root: `/a/b`.
    pub path: String,
    /// The cgroup above it.
    pub parent: CgroupId,
    /// Is it there before the scheduler is attached? Else a task makes it.
    pub is_there: bool,
    /// `cpu.weight` when it is made.
    pub weight: u32,
    /// `cpu.max` when it is made.
    pub bandwidth: Bandwidth,
    /// `cpu.idle` when it is made.
    pub idle: bool,
}

/// A cgroup as cgroupfs shows it at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupNow {
    /// Its path from the root: `/a/b`; empty for the root.
    pub path: String,
    /// Its number, in the order of creation; the root has number 0.
    pub number: u32,
    /// `cpu.weight`.
    pub weight: u32,
    /// `cpu.max` and `cpu.max.burst`.
    pub bandwidth: Bandwidth,
    /// `cpu.idle`.
    pub idle: bool,
    /// `cgroup.procs`.
    pub processes: Vec<i32>,
    /// `cgroup.threads`.
    pub threads: Vec<i32>,
    /// The CPU time of all tasks that are or were in it or below it.
    pub used: Span,
}

/// What a task does to cgroups. What the kernel refuses (a cgroup that is not there or is there already, one with tasks or
/// children that is to be removed) changes nothing, and the task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupStep {
    /// Moves itself there: its id into `cgroup.threads`.
    Join(CgroupId),
    /// Moves all threads of its process there: `cgroup.procs`.
    JoinProcess(CgroupId),
    /// `mkdir`, with the settings of the workload's list.
    Make(CgroupId),
    /// `rmdir`.
    Remove(CgroupId),
    /// Writes `cpu.weight`.
    Weight(CgroupId, u32),
    /// Writes `cpu.idle`.
    Idle(CgroupId, bool),
    /// Writes `cpu.max` and `cpu.max.burst`.
    Bandwidth(CgroupId, Bandwidth),
}

impl CgroupStep {
    /// The cgroup that it is about.
    pub const fn id(self) -> CgroupId {
        match self {
            Self::Join(id)
            | Self::JoinProcess(id)
            | Self::Make(id)
            | Self::Remove(id)
            | Self::Weight(id, _)
            | Self::Idle(id, _)
            | Self::Bandwidth(id, _) => id,
        }
    }

    /// The same about another cgroup.
    #[must_use]
    pub const fn about(self, id: CgroupId) -> Self {
        match self {
            Self::Join(_) => Self::Join(id),
            Self::JoinProcess(_) => Self::JoinProcess(id),
            Self::Make(_) => Self::Make(id),
            Self::Remove(_) => Self::Remove(id),
            Self::Weight(_, weight) => Self::Weight(id, weight),
            Self::Idle(_, idle) => Self::Idle(id, idle),
            Self::Bandwidth(_, bandwidth) => Self::Bandwidth(id, bandwidth),
        }
    }
}
