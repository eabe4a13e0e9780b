//! Facts of a stream: its machine, tasks and groups, and what a recording lacks.

use super::{Class, Request};
use crate::policy::Policy;
use keel_abi::cgroup::Bandwidth;
use keel_abi::scx::ExitKind;
use keel_abi::{CpuSet, DsqId, Noise, Pid, TaskId, Topology};

/// A task's description in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its id within the stream.
    pub task: TaskId,
    /// Its pid, as users see it.
    pub pid: Pid,
    /// Its name. Untrusted text: escape it wherever it is shown.
    pub name: String,
    /// Its nice value.
    pub nice: i8,
    /// The CPUs it may use.
    pub cpus: CpuSet,
}

/// A group of tasks to which the kernel gives CPU time as if it were one task (`struct task_group`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupInfo {
    /// Its number within the stream, from 1; [`What::Throttled`](super::What::Throttled) names the same.
    pub group: u32,
    /// Its parent; 0 for the root.
    pub parent: u32,
    /// Its name within that group. Untrusted text: escape it wherever it is shown.
    pub name: String,
    /// Its `cpu.weight`.
    pub weight: u32,
    /// `cpu.max` and `cpu.max.burst`.
    pub bandwidth: Bandwidth,
    /// `cpu.idle`.
    pub idle: bool,
    /// Whether it belongs to a session (`kernel.sched_autogroup_enabled`), not to a cgroup.
    pub session: bool,
}

/// What a recording lacks, so that a verdict can mention that first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Whether it is unknown which CPUs tasks may use: [`TaskInfo::cpus`] is only a guess.
    pub affinity: bool,
    /// Whether it is unknown when tasks are throttled: [`What::Throttled`](super::What::Throttled) is missing.
    pub throttling: bool,
}

/// Facts that are emitted once, or change rarely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meta {
    /// First in every stream: where it was recorded.
    Start {
        /// The machine's topology.
        topology: Topology,
        /// The scheduler's name.
        scheduler: String,
        /// The workload's name.
        workload: String,
        /// What [`What::Count`](super::What::Count) counts: `loops`, `messages`.
        unit: String,
    },
    /// A task appears, or its name, nice value or CPUs change.
    Task(TaskInfo),
    /// What the stream does not record. It comes right after the start; without it, the stream records everything.
    Unknown(Unknown),
    /// The recorder's own clock at instant 0, in nanoseconds. It comes right after the start; simulated runs have none.
    Clock {
        /// The clock's time.
        ns: u64,
    },
    /// The seed of a simulated run's random choices. It comes right after the start; a run without noise has none.
    Chance {
        /// The seed.
        seed: u64,
        /// The background activity.
        noise: Noise,
    },
    /// The process and session of a task of a simulated run that starts on its own. It follows the task.
    Member {
        /// The task.
        task: TaskId,
        /// Its process, numbered within the workload. Tasks with the same number are threads of one process.
        process: u32,
        /// Its session, likewise; 0 is the session of the kernel's first task.
        session: u32,
        /// Whether it is a kernel thread.
        kthread: bool,
    },
    /// A task requests a change to itself or to a cgroup from the kernel, or someone outside requests a change to a
    /// task or a CPU. Only simulated runs have this. The change itself may follow later, or never.
    Asks {
        /// The task; [`TaskId::IDLE`] for a change to a CPU.
        task: TaskId,
        /// Whether it comes from outside. If so, an [`Act::Begins`](super::Act::Begins) of the idle task contains the
        /// time when it was due.
        outside: bool,
        /// What is requested.
        request: Box<Request>,
    },
    /// A group appears, or its settings change.
    Group(Box<GroupInfo>),
    /// How the kernel schedules a task, emitted when it is first known and when it changes. Without it, this is
    /// unknown.
    Scheduled {
        /// The task.
        task: TaskId,
        /// Its policy, numbered as `task_struct.policy`.
        policy: u32,
        /// Its group; 0 for the root.
        group: u32,
    },
    /// The name of one of the scheduler's DSQs. It comes before the DSQ is used.
    Queue {
        /// The DSQ.
        id: DsqId,
        /// Its name. Untrusted text: escape it wherever it is shown.
        name: String,
    },
    /// The scheduler exited.
    SchedulerExit {
        /// How.
        kind: ExitKind,
        /// The kernel's message.
        message: String,
    },
    /// The scheduler reports what it considered.
    Policy(Box<Policy>),
    /// Last in every complete stream: when it ended.
    End,
}

impl Meta {
    /// Returns the class that it belongs to, or none if every sink gets it.
    pub const fn class(&self) -> Class {
        match self {
            Self::Policy(_) => Class::POLICY,
            Self::Member { .. } | Self::Asks { .. } => Class::ACTS,
            Self::Start { .. }
            | Self::Task(_)
            | Self::Unknown(_)
            | Self::Clock { .. }
            | Self::Chance { .. }
            | Self::Queue { .. }
            | Self::Group(_)
            | Self::Scheduled { .. }
            | Self::SchedulerExit { .. }
            | Self::End => Class::NONE,
        }
    }
}
