//! The raw records of a recording, before they are made consistent.

use crate::{Call, GroupInfo, Piping, Policy, Source, Why};
use keel_abi::tape::Room;
use keel_abi::{CpuId, CpuSet, Pid};

/// Identifies a task while it exists: its address in the kernel, which no other task has until after its last switch,
/// or its pid if a recording has no addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(
    /// The address or the pid; 0 for idle tasks.
    pub u64,
);

impl Key {
    /// A CPU's idle task.
    pub const IDLE: Self = Self(0);

    /// Returns whether it is a CPU's idle task.
    pub fn is_idle(self) -> bool {
        self == Self::IDLE
    }
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// When, in nanoseconds of the recording's clock.
    pub at: u64,
    /// The CPU that wrote it.
    pub writer: CpuId,
    /// The number of records that this CPU lost just before.
    pub lost: u32,
    /// Its content.
    pub what: RawWhat,
}

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawWhat {
    /// `sched_switch`.
    Switch {
        /// The CPU.
        cpu: CpuId,
        /// The previous task.
        prev: Key,
        /// Why it stopped.
        why: Why,
        /// The next task.
        next: Key,
        /// Its priority, the kernel's `p->prio`, if it is given here.
        prio: Option<i16>,
    },
    /// `sched_wakeup`, with the waker and CPU of `sched_waking`.
    Wakeup {
        /// The waker's CPU.
        cpu: CpuId,
        /// The woken task.
        task: Key,
        /// The CPU whose runqueue it joins.
        target: CpuId,
        /// The waker; [`Key::IDLE`] for an interrupt.
        waker: Key,
        /// The call in which the task waited, and what wakes it, if recorded.
        waited: Option<(Call, Source)>,
    },
    /// `sched_wakeup_new`.
    Fork {
        /// The parent's CPU.
        cpu: CpuId,
        /// The new task.
        child: Key,
        /// The CPU whose runqueue it joins.
        target: CpuId,
        /// Its parent.
        parent: Key,
    },
    /// `sched_migrate_task` of a task that is on a runqueue.
    Migrate {
        /// The CPU that moves it.
        cpu: CpuId,
        /// The task.
        task: Key,
        /// The source CPU.
        from: CpuId,
        /// The destination CPU.
        to: CpuId,
    },
    /// `sched_set_need_resched` of an idle CPU.
    Kick {
        /// The CPU that reports it.
        cpu: CpuId,
        /// The idle CPU.
        target: CpuId,
    },
    /// The scheduler starts or stops using a CPU.
    Online {
        /// The CPU on which this is done.
        cpu: CpuId,
        /// The CPU that goes online or offline.
        target: CpuId,
        /// Whether it comes online.
        up: bool,
    },
    /// A CPU has stopped. From now on it runs its idle task.
    Stopped {
        /// Which.
        target: CpuId,
    },
    /// `sched_pi_setprio`: a task inherits a priority, or gets its own back.
    Priority {
        /// The task.
        task: Key,
        /// The kernel's `p->prio`.
        prio: i16,
    },
    /// The kernel throttles or unthrottles a runnable task.
    Throttled {
        /// The CPU that does this.
        cpu: CpuId,
        /// The task.
        task: Key,
        /// Whether it begins.
        on: bool,
        /// The group with the limit; 0 if that is unknown, or it is the task's own budget.
        group: Key,
    },
    /// A CPU starts or stops idling on purpose.
    Reserved {
        /// The CPU that does this.
        cpu: CpuId,
        /// The CPU that idles.
        target: CpuId,
        /// Whether it begins.
        on: bool,
    },
    /// A task starts to write to a pipe or a local socket, or has read from one.
    Piped {
        /// The CPU.
        cpu: CpuId,
        /// The task.
        task: Key,
        /// Identifies the pipe while it exists.
        pipe: Key,
        /// The number of bytes.
        bytes: u32,
        /// Its capacity.
        room: Room,
        /// What the task does.
        how: Piping,
    },
    /// A task's description.
    Task(Box<TaskRecord>),
    /// A group's description.
    Group(Box<GroupRecord>),
    /// A scheduler's report of a decision.
    Decision(Box<Policy>),
}

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It neither runs nor is on a runqueue.
    Asleep,
    /// It waits on this CPU's runqueue.
    Waiting(CpuId),
    /// It runs on this CPU.
    Running(CpuId),
}

/// A task's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Which.
    pub task: Key,
    /// Its pid, as users see it.
    pub pid: Pid,
    /// Its name: untrusted text.
    pub name: String,
    /// Its nice value.
    pub nice: i8,
    /// Its priority, the kernel's `p->prio`; `None` if not recorded.
    pub prio: Option<i16>,
    /// Its weight among tasks of its class, as in `weight_of_nice()`; 0 if it is unknown, or depends on a group.
    pub weight: u32,
    /// Its policy, as in the kernel's `task_struct.policy`, and its group (`None` for the root), if recorded.
    pub scheduled: Option<(u32, Key)>,
    /// The CPUs that it may use; empty if not recorded.
    pub cpus: CpuSet,
    /// Whether nothing was recorded about it before.
    pub first: bool,
    /// What it is doing, in a snapshot.
    pub doing: Option<Doing>,
}

impl TaskRecord {
    /// Creates the description of a task about which nothing is known.
    pub fn unknown(task: Key) -> Self {
        let name = "unknown".to_owned();
        let cpus = CpuSet::new();
        Self {
            task,
            pid: Pid(0),
            name,
            nice: 0,
            prio: None,
            weight: 0,
            scheduled: None,
            cpus,
            first: true,
            doing: None,
        }
    }
}

/// A description of a group of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// Its address, which no other group has while it exists.
    pub key: Key,
    /// Distinguishes it from earlier ones with the same address.
    pub id: u64,
    /// Its parent; 0 for the root.
    pub parent: Key,
    /// The rest. The stream's own numbers in it are assigned later.
    pub info: GroupInfo,
}
