//! Requests to the kernel that a replay of a simulated run repeats: changes to tasks and CPUs.

use keel_abi::cgroup::Bandwidth;
use keel_abi::task::{Hint, Policy};
use keel_abi::{CpuId, CpuSet, Span};

/// A change that is asked for, whether or not the kernel then makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The task's nice value.
    Nice(i8),
    /// The CPUs that the task may use; empty means all.
    Cpus(CpuSet),
    /// The task's policy.
    Policy(Policy),
    /// A CPU goes offline.
    Offline(CpuId),
    /// A CPU comes online.
    Online(CpuId),
    /// The task has asked for this slice since it began (`sched_attr::sched_runtime`).
    Slice(Span),
    /// The scheduler has had this hint about the task since the task began.
    Hint(Hint),
    /// To keep a CPU busy until this much time has passed.
    RunFor(Span),
    /// `migrate_disable()`.
    MigrateDisable,
    /// `migrate_enable()`.
    MigrateEnable,
    /// `execve()`.
    Exec,
    /// `setsid()`.
    Setsid,
    /// The nice value of the autogroup of the task's session.
    AutogroupNice(i8),
    /// A change that concerns the cgroup of this path.
    Cgroup {
        /// Its path, beginning with `/`. Hostile text: escape it wherever it is shown.
        path: String,
        /// What.
        change: CgroupChange,
    },
}

/// What happens to a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupChange {
    /// The task joins it.
    Join,
    /// The task's whole process joins it.
    JoinProcess,
    /// It is created.
    Make,
    /// It is removed.
    Remove,
    /// `cpu.weight`.
    Weight(u32),
    /// `cpu.idle`.
    Idle(bool),
    /// `cpu.max` and `cpu.max.burst`.
    Bandwidth(Bandwidth),
}
