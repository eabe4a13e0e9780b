//! The cgroups of a workload, as data: cgroup v2 with the cpu controller.

use crate::Span;

/// The lowest `cpu.weight`.
pub const WEIGHT_MIN: u32 = 1;
/// The default weight of a cgroup (`CGROUP_WEIGHT_DFL`).
pub const WEIGHT_DFL: u32 = 100;
/// The highest `cpu.weight`.
pub const WEIGHT_MAX: u32 = 10_000;
/// A quota without a limit (`RUNTIME_INF`).
pub const QUOTA_NONE: u64 = u64::MAX;

/// A cgroup of a workload: [`CgroupId::ROOT`], or one plus its index in [`crate::task::Workload::cgroups`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CgroupId(pub u32);

impl CgroupId {
    /// The root, which always exists.
    pub const ROOT: Self = Self(0);

    /// Returns the id of the workload's cgroup with this index.
    pub const fn at(place: usize) -> Self {
        Self(place as u32 + 1)
    }

    /// Returns its index in the workload's list, or `None` for the root.
    pub const fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

/// The root's `kernfs_node.id`.
const ROOT_KERNFS_ID: u64 = 1;
/// The distance from one cgroup's id to the next. The files in a cgroup's directory have the ids in between.
const KERNFS_IDS_A_CGROUP: u64 = 64;

/// Returns `kernfs_node.id` of the cgroup with this number. Cgroups are numbered in the order of creation; the root has
/// number 0. BPF and programs find cgroups by this id (`bpf_cgroup_from_id()`, inode numbers).
pub const fn kernfs_id(number: u32) -> u64 {
    ROOT_KERNFS_ID + KERNFS_IDS_A_CGROUP * number as u64
}

/// Returns the number of the cgroup with this id, or `None` for an id that no cgroup has.
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
    /// The CPU time within a period; [`QUOTA_NONE`] for no limit.
    pub quota_us: u64,
    /// How much unused quota may accumulate.
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
    /// Its parent.
    pub parent: CgroupId,
    /// Whether it exists before the scheduler is attached. Otherwise a task creates it.
    pub is_there: bool,
    /// `cpu.weight` when it is created.
    pub weight: u32,
    /// `cpu.max` when it is created.
    pub bandwidth: Bandwidth,
    /// `cpu.idle` when it is created.
    pub idle: bool,
}

/// A cgroup's current state, as cgroupfs shows it.
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
    /// The CPU time of all tasks in it or below it, past and present.
    pub used: Span,
}

/// What a task does to cgroups. If the kernel refuses a step (the cgroup doesn't exist or already does, or one with
/// tasks or children is to be removed), nothing changes and the task continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupStep {
    /// Moves the task there: writes its id to `cgroup.threads`.
    Join(CgroupId),
    /// Moves all threads of its process there: writes to `cgroup.procs`.
    JoinProcess(CgroupId),
    /// Creates it (`mkdir`), with the settings in the workload's list.
    Make(CgroupId),
    /// Removes it (`rmdir`).
    Remove(CgroupId),
    /// Writes `cpu.weight`.
    Weight(CgroupId, u32),
    /// Writes `cpu.idle`.
    Idle(CgroupId, bool),
    /// Writes `cpu.max` and `cpu.max.burst`.
    Bandwidth(CgroupId, Bandwidth),
}

impl CgroupStep {
    /// Returns the cgroup that the step is about.
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

    /// Returns the same step for another cgroup.
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
