//! The event schema.
//!
//! [`Event`]s are small and copied; what has names or sets in it comes as [`Meta`], in its place
//! in the same order. Instants never decrease along a stream.

mod waited;

use crate::policy::Policy;
use keel_abi::cgroup::Bandwidth;
use keel_abi::scx::{ExitKind, Op};
use keel_abi::tape::Room;
use keel_abi::{CpuId, CpuSet, DsqId, Instant, Noise, Pid, Span, TaskId, Topology};
pub use waited::{Call, Piping, Source};

/// An event on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// The CPU that did it.
    pub cpu: CpuId,
    /// What.
    pub what: What,
}

/// Why the previous task left the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It was idle before.
    WasIdle,
    /// It still wants the CPU: its slice ended or another took its place.
    Preempted,
    /// It gave the CPU up by `sched_yield()`.
    Yielded,
    /// It sleeps or waits for another task.
    Blocked,
    /// It is no more.
    Exited,
}

/// Who chose a CPU for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chooser {
    /// `ops.select_cpu`.
    SelectCpu,
    /// The kernel's default choice.
    Default,
    /// The kernel, because the chosen CPU was not allowed.
    Fallback,
    /// The task may run on this CPU only.
    OnlyOne,
    /// A move by `ops.dispatch` or an insert into another CPU's local queue.
    Dispatch,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The CPU goes from one task to another; [`TaskId::IDLE`] is its idle task.
    Switch {
        /// Who ran.
        prev: TaskId,
        /// Why it stopped.
        why: Why,
        /// Who runs now.
        next: TaskId,
    },
    /// A blocked task becomes runnable; the event's CPU is the waker's.
    Wakeup {
        /// Who wakes.
        task: TaskId,
        /// The CPU whose runqueue it joins.
        target: CpuId,
        /// The task that woke it; [`TaskId::IDLE`] for a timer or interrupt.
        waker: TaskId,
    },
    /// A new task is runnable.
    Fork {
        /// The new task.
        child: TaskId,
        /// The CPU whose runqueue it joins.
        target: CpuId,
        /// Its parent; [`TaskId::IDLE`] for one that the run starts with. The child itself where it is not new, but waited already when the
        /// stream begins, and how it had come there is unknown.
        parent: TaskId,
    },
    /// The task has exited.
    Exit {
        /// Who.
        task: TaskId,
    },
    /// A runnable task changes its runqueue.
    Migrate {
        /// Who.
        task: TaskId,
        /// Whence.
        from: CpuId,
        /// The destination CPU.
        to: CpuId,
    },
    /// A CPU was chosen for a waking or new task.
    Placed {
        /// Who.
        task: TaskId,
        /// The CPU it last ran on.
        prev: CpuId,
        /// The CPU chosen.
        chosen: CpuId,
        /// The task or CPU that did it.
        by: Chooser,
        /// Was the chosen CPU idle then?
        idle: bool,
    },
    /// A task enters a dispatch queue.
    Queued {
        /// Who.
        task: TaskId,
        /// The queue; a local one is `LOCAL_ON | cpu`.
        dsq: DsqId,
        /// Tasks in it now.
        len: u32,
    },
    /// A task leaves a dispatch queue.
    Unqueued {
        /// Who.
        task: TaskId,
        /// The queue.
        dsq: DsqId,
        /// Tasks in it now.
        len: u32,
    },
    /// The scheduler took custody of a task without a queue (it is in the BPF program's hands).
    Held {
        /// Who.
        task: TaskId,
    },
    /// A CPU receives a request to reschedule.
    Kick {
        /// Which.
        target: CpuId,
        /// `SCX_KICK_*`.
        flags: u64,
    },
    /// A callback ended.
    Callback {
        /// Which.
        op: Op,
        /// Who it was about, or [`TaskId::IDLE`].
        task: TaskId,
        /// How long it took, waiting for locks included.
        took: Span,
        /// BPF instructions that it executed.
        insns: u32,
    },
    /// A CPU waited for a lock.
    LockWait {
        /// Whose: a runqueue's CPU, or a queue's or BPF lock's number.
        lock: Lock,
        /// How long.
        waited: Span,
    },
    /// A CPU comes or goes.
    Online {
        /// Which.
        target: CpuId,
        /// It comes.
        up: bool,
    },
    /// Units of the workload's throughput that a task has done.
    Count {
        /// Who.
        task: TaskId,
        /// How many since its last such event.
        units: u32,
    },
    /// The scheduler is in charge (`true`) or the kernel bypasses it.
    Bypass {
        /// Bypassing begins.
        on: bool,
    },
    /// A task's priority, emitted when it is first known and when it changes.
    Priority {
        /// Who.
        task: TaskId,
        /// The kernel's `p->prio`, inherited priorities included: below 100 real-time, 100 to 139 by nice value, -1 for deadlines; lower
        /// is more urgent.
        prio: i16,
        /// Its share of CPU time among tasks of its class, as `weight_of_nice()`; 0 where it is not known, or depends on a group.
        weight: u32,
    },
    /// The kernel throttles or unthrottles a task that wants to run: its group's `cpu.max` or its deadline budget is
    /// used up. From `on` to `!on` it does not wait for a CPU. A running task may be throttled; it then leaves its CPU
    /// as preempted. Switching to the task ends the throttling, too. A simulated run also emits `!on` for a task that
    /// joins a group with a limit, so that readers know the group from the beginning.
    Throttled {
        /// Who.
        task: TaskId,
        /// It begins.
        on: bool,
        /// The group whose `cpu.max` it is, by a number of the stream's own; 0 where that is not known, or it is the task's
        /// own budget. While a task of a group is throttled on a CPU, none of the group may run there.
        group: u32,
    },
    /// A CPU begins or ceases to idle on purpose, when it could run no waiting task: core scheduling forces it idle, it is
    /// isolated from load balancing, or the kernel injects idleness.
    Reserved {
        /// Which.
        target: CpuId,
        /// It begins.
        on: bool,
    },
    /// A task begins to wait for a mutex of its program, or waits on because another was quicker. Once it has the mutex
    /// after that, the same event names the task itself as the owner.
    Awaits {
        /// Who.
        task: TaskId,
        /// Which mutex of the workload.
        mutex: u32,
        /// The task that holds it; [`TaskId::IDLE`] if none does just now.
        owner: TaskId,
    },
    /// The CPU time that a task has used itself since its last such event, without scheduling overhead. First its own
    /// work, then time in the kernel at its own request.
    Worked {
        /// Who.
        task: TaskId,
        /// Work, as long as it takes on an undisturbed CPU of nominal speed.
        user: Span,
        /// Time in system calls, in picoseconds.
        kernel_ps: u64,
    },
    /// What a task does that others' waits, or its own, follow from.
    Acts {
        /// Who.
        task: TaskId,
        /// What.
        act: Act,
    },
    /// How a task waited whose wakeup comes next, where a recording tells.
    Waited {
        /// Who.
        task: TaskId,
        /// What it waited in.
        call: Call,
        /// What wakes it.
        source: Source,
    },
    /// A task begins to write to a pipe or a local socket, or has read from one, where a recording tells.
    Piped {
        /// Who.
        task: TaskId,
        /// Which, by a number of the stream's own, from 0.
        pipe: u32,
        /// How many bytes.
        bytes: u32,
        /// How much it holds.
        room: Room,
        /// What the task does.
        how: Piping,
    },
    /// A recording missed what its CPU did just before: its buffer was full.
    Lost {
        /// How many events.
        events: u32,
    },
}

impl What {
    /// The class that it belongs to.
    #[inline]
    pub const fn class(&self) -> Class {
        match self {
            Self::Switch { .. }
            | Self::Wakeup { .. }
            | Self::Fork { .. }
            | Self::Exit { .. }
            | Self::Migrate { .. }
            | Self::Online { .. }
            | Self::Bypass { .. }
            | Self::Priority { .. }
            | Self::Throttled { .. }
            | Self::Reserved { .. }
            | Self::Lost { .. } => Class::CORE,
            Self::Placed { .. } | Self::Kick { .. } => Class::DECISIONS,
            Self::Queued { .. } | Self::Unqueued { .. } | Self::Held { .. } => Class::QUEUES,
            Self::Callback { .. } => Class::COSTS,
            Self::LockWait { .. } | Self::Awaits { .. } => Class::LOCKS,
            Self::Count { .. } => Class::COUNTS,
            Self::Worked { .. } | Self::Acts { .. } => Class::ACTS,
            Self::Waited { .. } | Self::Piped { .. } => Class::CALLS,
        }
    }
}

/// What a task does, for [`What::Acts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Wakes another, which has a wakeup event of its own unless it had not left its CPU yet.
    Wakes {
        /// Which task.
        wakee: TaskId,
        /// It is about to wait itself (`SCX_WAKE_SYNC`).
        sync: bool,
    },
    /// Begins to wait until another wakes it.
    Waits,
    /// Begins to sleep.
    Sleeps {
        /// When its timer fires.
        until: Instant,
        /// What that moment was counted from.
        timer: Timer,
    },
    /// Comes by itself.
    Begins {
        /// When that was due.
        at: Instant,
    },
    /// Makes another task.
    Forks {
        /// Which task.
        child: TaskId,
        /// As a process of its own.
        process: bool,
    },
    /// Gives its CPU up by `sched_yield()`.
    Yields,
    /// Ends.
    Exits,
}

/// What a sleep's end is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The moment when it began.
    Relative,
    /// A clock, whenever it began.
    Absolute,
    /// The moment when it began; it ends with the next tick of its CPU after that (`TIMER_DEFERRABLE`).
    Deferrable,
}

/// A lock, for [`What::LockWait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// A CPU's runqueue lock.
    Runqueue(CpuId),
    /// A dispatch queue's lock.
    Dsq(DsqId),
    /// A `bpf_spin_lock`, by address.
    Bpf(u64),
}

/// What a stream says about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its id within the stream.
    pub task: TaskId,
    /// Its number as people see it.
    pub pid: Pid,
    /// Its name. Hostile text: escape it wherever it is shown.
    pub name: String,
    /// Its nice value.
    pub nice: i8,
    /// The CPUs it may use.
    pub cpus: CpuSet,
}

/// A group of tasks that the kernel shares CPU time out to as if it were one task (`struct task_group`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupInfo {
    /// Its number within the stream, from 1; [`What::Throttled`] names the same.
    pub group: u32,
    /// The group above it; 0 for the root.
    pub parent: u32,
    /// What it is called within that one. Hostile text: escape it wherever it is shown.
    pub name: String,
    /// Its `cpu.weight`.
    pub weight: u32,
    /// `cpu.max` and `cpu.max.burst`.
    pub bandwidth: Bandwidth,
    /// `cpu.idle`.
    pub idle: bool,
    /// It is a session's (`kernel.sched_autogroup_enabled`), not a cgroup.
    pub session: bool,
}

/// What a recording lacks, so that a verdict can say it first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Which CPUs tasks may use: [`TaskInfo::cpus`] is only a guess.
    pub affinity: bool,
    /// When tasks are throttled: [`What::Throttled`] is missing.
    pub throttling: bool,
}

/// What is emitted once, or changes rarely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meta {
    /// First in every stream: where it was taken.
    Start {
        /// The machine's shape.
        topology: Topology,
        /// The scheduler's name.
        scheduler: String,
        /// The workload's name.
        workload: String,
        /// What [`What::Count`] counts: `loops`, `messages`.
        unit: String,
    },
    /// A task appears, or its name, nice value or CPUs change.
    Task(TaskInfo),
    /// What the stream does not record. It comes right after the start; a stream without it is complete.
    Unknown(Unknown),
    /// What the recorder's own clock said at instant 0, in nanoseconds. It comes right after the start; simulated runs have none.
    Clock {
        /// The clock's time.
        ns: u64,
    },
    /// The seed of a simulated run's random choices. It comes right after the start; a run without noise has none.
    Chance {
        /// The seed.
        seed: u64,
        /// What went on beside the workload.
        noise: Noise,
    },
    /// The process and session of a task of a simulated run that comes by itself. It follows the task.
    Member {
        /// Who.
        task: TaskId,
        /// Its process, numbered within the workload: those with the same number are its threads.
        process: u32,
        /// Its session, likewise; 0 is the session of the kernel's first task.
        session: u32,
        /// It is a kernel thread.
        kthread: bool,
    },
    /// A group appears, or its settings change.
    Group(Box<GroupInfo>),
    /// How the kernel schedules a task, when that is first known and when it changes. Recordings that never say so do not
    /// know it.
    Scheduled {
        /// Who.
        task: TaskId,
        /// Its policy, numbered as `task_struct.policy`.
        policy: u32,
        /// Its group; 0 for the root.
        group: u32,
    },
    /// What people call a queue of the scheduler's. It comes before the queue is used.
    Queue {
        /// The queue.
        id: DsqId,
        /// Its name. Hostile text: escape it wherever it is shown.
        name: String,
    },
    /// The scheduler ended.
    SchedulerExit {
        /// How.
        kind: ExitKind,
        /// The kernel's words.
        message: String,
    },
    /// The scheduler reports what it considered.
    Policy(Box<Policy>),
    /// Last in every complete stream: when it ended.
    End,
}

impl Meta {
    /// The class that it belongs to; none where every sink gets it.
    pub const fn class(&self) -> Class {
        match self {
            Self::Policy(_) => Class::POLICY,
            Self::Member { .. } => Class::ACTS,
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

/// Kinds of events that a sink may leave out, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class(pub u16);

impl Class {
    /// None: nothing listens.
    pub const NONE: Self = Self(0);
    /// Switch, wakeup, fork, exit, migrate, online, bypass, priority, throttled, reserved, lost: what every judge needs.
    pub const CORE: Self = Self(1);
    /// Placed, kick.
    pub const DECISIONS: Self = Self(2);
    /// Queued, unqueued, held.
    pub const QUEUES: Self = Self(4);
    /// Callback.
    pub const COSTS: Self = Self(8);
    /// Count.
    pub const COUNTS: Self = Self(16);
    /// What a scheduler reports of its decisions ([`Meta::Policy`]).
    pub const POLICY: Self = Self(32);
    /// Waiting for locks: a CPU's, and a task's.
    pub const LOCKS: Self = Self(64);
    /// What tasks did for themselves: worked, acts. A replay needs it to be exact.
    pub const ACTS: Self = Self(128);
    /// How tasks waited, as recordings of real kernels tell.
    pub const CALLS: Self = Self(256);
    /// All of them.
    pub const ALL: Self = Self(511);

    /// Both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Is every kind of `other` in?
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Whoever listens to a stream.
pub trait Sink {
    /// The events it wants.
    fn wants(&self) -> Class;

    /// Takes events, in order.
    fn events(&mut self, events: &[Event]);

    /// Takes one rarer fact, in its place among the events.
    fn meta(&mut self, at: Instant, meta: &Meta);
}
