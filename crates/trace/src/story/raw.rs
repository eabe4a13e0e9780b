//! The raw records of a recording, before they are made consistent.

use crate::{Call, GroupInfo, Piping, Policy, Source, Why};
use keel_abi::tape::Room;
use keel_abi::{CpuId, CpuSet, Pid};

/// Identifies a task while it exists: its address in the kernel, which no other task has until after its last switch,
/// or its pid if a recording has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(
    /// The address or the pid; 0 for idle tasks.
    pub u64,
);

impl Key {
    /// A CPU's idle task.
    pub const IDLE: Self = Self(0);

    /// Is it a CPU's idle task?
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
    /// Records that this CPU lost just before.
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
        /// The waker; none for an interrupt.
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
        /// The CPU that goes on- or offline.
        target: CpuId,
        /// It comes online.
        up: bool,
    },
    /// A CPU has stopped: from now on it runs its idle task.
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
    /// The kernel throttles or releases a runnable task.
    Throttled {
        /// The CPU that does this.
        cpu: CpuId,
        /// The task.
        task: Key,
        /// It begins.
        on: bool,
        /// The group whose limit it is; 0 where that is not known, or it is the task's own budget.
        group: Key,
    },
    /// A CPU begins or ceases to idle on purpose.
    Reserved {
        /// The CPU that does this.
        cpu: CpuId,
        /// The CPU that idles.
        target: CpuId,
        /// It begins.
        on: bool,
    },
    /// A task begins to write to a pipe or a local socket, or has read from one.
    Piped {
        /// The CPU.
        cpu: CpuId,
        /// The task.
        task: Key,
        /// What distinguishes it from others while it exists.
        pipe: Key,
        /// How many bytes.
        bytes: u32,
        /// How much it holds.
        room: Room,
        /// What the task does.
        how: Piping,
    },
    /// What a task is.
    Task(Box<TaskRecord>),
    /// What a group is.
    Group(Box<GroupRecord>),
    /// What the scheduler reports of a decision.
    Decision(Box<Policy>),
}

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Neither running nor on a runqueue.
    Asleep,
    /// On this CPU's runqueue.
    Waiting(CpuId),
    /// On this CPU.
    Running(CpuId),
}

/// What a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Which.
    pub task: Key,
    /// Its number as people see it.
    pub pid: Pid,
    /// Its name: untrusted text.
    pub name: String,
    /// Its nice value.
    pub nice: i8,
    /// How urgent it is, as the kernel's `p->prio`; none where a recording does not say.
    pub prio: Option<i16>,
    /// Its share of CPU time among tasks of its class, as `weight_of_nice()`; 0 where it is not known, or depends on a
    /// group.
    pub weight: u32,
    /// Its policy, as in the kernel's `task_struct.policy`, and its group (`None` for the root), if recorded.
    pub scheduled: Option<(u32, Key)>,
    /// The CPUs that it may use; none where a recording does not say.
    pub cpus: CpuSet,
    /// Nothing was recorded of it before.
    pub first: bool,
    /// In a snapshot: what it does.
    pub doing: Option<Doing>,
}

impl TaskRecord {
    /// A task with nothing known about it.
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

/// What a group of tasks is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// Its address, which is its own while it exists.
    pub key: Key,
    /// Distinguishes it from earlier ones with the same address.
    pub id: u64,
    /// The group above; none for the root.
    pub parent: Key,
    /// The rest. Its numbers are the stream's own, given later.
    pub info: GroupInfo,
}
