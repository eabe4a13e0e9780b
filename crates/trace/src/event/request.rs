//! Requests to the kernel that a replay of a simulated run repeats: changes to tasks and CPUs.

use keel_abi::cgroup::Bandwidth;
use keel_abi::task::{Hint, Policy};
use keel_abi::{CpuId, CpuSet, Span};

/// A requested change, whether or not the kernel then makes it.
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
    /// The slice that the task has requested since it started (`sched_attr::sched_runtime`).
    Slice(Span),
    /// The hint that the scheduler has had about the task since the task started.
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
    /// A change that concerns the cgroup with this path.
    Cgroup {
        /// Its path, which begins with `/`. Untrusted text: escape it wherever it is shown.
        path: String,
        /// The change.
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
