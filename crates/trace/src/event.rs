//! The event schema.
//!
//! [`Event`]s are small and copied; facts with names or sets come as [`Meta`], in order among the events. Instants
//! never decrease along a stream.

mod class;
mod meta;
mod request;
mod waited;

pub use class::Class;
use keel_abi::scx::Op;
use keel_abi::tape::Room;
use keel_abi::{CpuId, DsqId, Instant, Span, TaskId};
pub use meta::{GroupInfo, Meta, TaskInfo, Unknown};
pub use request::{CgroupChange, Request};
pub use waited::{Call, Piping, Source};

/// An event on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened.
    pub at: Instant,
    /// The CPU that did it.
    pub cpu: CpuId,
    /// What happened.
    pub what: What,
}

/// Why the previous task left the CPU. Those that put it to sleep come first, so that one comparison tells them from
/// the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was idle before.
    WasIdle,
    /// It sleeps or waits for another task.
    Blocked,
    /// It is still runnable: its slice ended, or another task preempted it.
    Preempted,
    /// It yielded the CPU by `sched_yield()`.
    Yielded,
    /// It exited.
    Exited,
}

impl Why {
    /// Returns whether the task neither runs nor waits for a CPU from now on.
    #[inline]
    pub const fn is_sleep(self) -> bool {
        matches!(self, Self::Blocked | Self::WasIdle)
    }
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
    /// There was no choice: the task may run only on this CPU.
    OnlyOne,
    /// A move by `ops.dispatch`, or an insertion into another CPU's local DSQ.
    Dispatch,
}

/// What happened. The kinds that bring a task which has done nothing for long come first, and have it first, so that a
/// listener finds it without asking which of them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The CPU switches from one task to another. [`TaskId::IDLE`] is its idle task.
    Switch {
        /// The next task.
        next: TaskId,
        /// The previous task.
        prev: TaskId,
        /// Why it stopped.
        why: Why,
    },
    /// A blocked task becomes runnable; the event's CPU is the waker's.
    Wakeup {
        /// The woken task.
        task: TaskId,
        /// The CPU whose runqueue it joins.
        target: CpuId,
        /// The task that woke it; [`TaskId::IDLE`] for a timer or interrupt.
        waker: TaskId,
    },
    /// [`What::Placed`] and [`What::Wakeup`] in one, for those who want wakeups in brief ([`Class::BRIEF`]).
    Woken {
        /// The woken task.
        task: TaskId,
        /// The CPU that was chosen, whose runqueue it joins.
        target: CpuId,
        /// As in a wakeup.
        waker: TaskId,
        /// The CPU that it last ran on.
        prev: CpuId,
        /// Who chose the CPU.
        by: Chooser,
        /// It is inserted into that CPU's local DSQ at once, which is no event of its own then.
        inserted: bool,
    },
    /// A new task is runnable.
    Fork {
        /// The new task.
        child: TaskId,
        /// The CPU whose runqueue it joins.
        target: CpuId,
        /// Its parent; [`TaskId::IDLE`] for a task that starts on its own. The child itself if it is not new but was
        /// already waiting when the stream began, and it is unknown how it got there.
        parent: TaskId,
    },
    /// The task has exited.
    Exit {
        /// The task.
        task: TaskId,
    },
    /// A runnable task moves to another runqueue.
    Migrate {
        /// The task.
        task: TaskId,
        /// The source CPU.
        from: CpuId,
        /// The destination CPU.
        to: CpuId,
    },
    /// A CPU was chosen for a waking or new task.
    Placed {
        /// The task.
        task: TaskId,
        /// The CPU that it last ran on.
        prev: CpuId,
        /// The chosen CPU.
        chosen: CpuId,
        /// Who chose it.
        by: Chooser,
        /// Whether the chosen CPU was idle at that moment.
        idle: bool,
    },
    /// [`What::Migrate`] and [`What::Queued`] in one, for a task that comes into its new CPU's local DSQ and for those
    /// who want moves in brief ([`Class::BRIEF`]).
    Pulled {
        /// The task.
        task: TaskId,
        /// The source CPU.
        from: CpuId,
        /// The destination CPU.
        to: CpuId,
    },
    /// A task enters a DSQ.
    Queued {
        /// The task.
        task: TaskId,
        /// The DSQ; a local one is `LOCAL_ON | cpu`.
        dsq: DsqId,
        /// The number of tasks in it now.
        len: u32,
    },
    /// A task leaves a DSQ.
    Unqueued {
        /// The task.
        task: TaskId,
        /// The DSQ.
        dsq: DsqId,
        /// The number of tasks in it now.
        len: u32,
    },
    /// The scheduler took custody of a task without inserting it into a DSQ (the BPF program holds it).
    Held {
        /// The task.
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
        /// The task that it was called for, or [`TaskId::IDLE`].
        task: TaskId,
        /// How long it took, including waiting for locks.
        took: Span,
        /// BPF instructions that it executed.
        insns: u32,
    },
    /// A CPU waited for a lock.
    LockWait {
        /// The lock.
        lock: Lock,
        /// How long.
        waited: Span,
    },
    /// CPUs have waited for locks for less than [`SHORT_LOCK_WAIT`] each, for those who want core events in brief
    /// ([`Class::BRIEF`]).
    LockWaits {
        /// How long in all, since the last event of this kind.
        waited: Span,
    },
    /// A CPU goes on- or offline.
    Online {
        /// Which.
        target: CpuId,
        /// Whether it comes online; otherwise it goes offline.
        up: bool,
    },
    /// A task has done units of the workload's throughput.
    Count {
        /// The task.
        task: TaskId,
        /// The number of units since its last such event.
        units: u32,
    },
    /// Bypass mode begins or ends.
    Bypass {
        /// Whether it begins.
        on: bool,
    },
    /// A task's priority, emitted when it is first known and when it changes.
    Priority {
        /// The task.
        task: TaskId,
        /// The kernel's `p->prio`, including inherited priorities: below 100 real-time, 100 to 139 by nice value, -1
        /// for deadlines; lower is more urgent.
        prio: i16,
        /// Its weight among tasks of its class, as in `weight_of_nice()`; 0 if it is not known, or depends on a group.
        weight: u32,
    },
    /// The kernel throttles or unthrottles a task that wants to run: its group's `cpu.max` or its deadline budget is
    /// used up. From `on` to `!on` it does not wait for a CPU. A running task may be throttled; it then leaves its CPU
    /// as preempted. Switching to the task also ends the throttling. A simulated run also emits `!on` for a task that
    /// joins a group with a limit, so that readers know the group from the beginning.
    Throttled {
        /// The task.
        task: TaskId,
        /// Whether it begins.
        on: bool,
        /// The group that has the `cpu.max`, by the stream's own number; 0 if that is not known, or it is the task's
        /// own budget. While a task of a group is throttled on a CPU, no task of the group may run there.
        group: u32,
    },
    /// A CPU starts or stops idling on purpose. It can run no waiting task then: core scheduling forces it idle, it is
    /// isolated from load balancing, or the kernel injects idleness.
    Reserved {
        /// Which.
        target: CpuId,
        /// Whether it begins.
        on: bool,
    },
    /// A task starts to wait for a mutex of its program, or keeps waiting because another task was faster. When it gets
    /// the mutex, the same event names the task itself as the owner.
    Awaits {
        /// The task.
        task: TaskId,
        /// The mutex of the workload.
        mutex: u32,
        /// The task that holds it; [`TaskId::IDLE`] if none currently does.
        owner: TaskId,
    },
    /// The CPU time that a task has used itself since its last event of this kind, without scheduling overhead: first
    /// its own work, then time in the kernel at its own request.
    Worked {
        /// The task.
        task: TaskId,
        /// Its own work, as the time that this takes on an undisturbed CPU of nominal speed.
        user: Span,
        /// Time in system calls, in picoseconds.
        kernel_ps: u64,
    },
    /// An act of a task that causes its own or others' waits.
    Acts {
        /// The task.
        task: TaskId,
        /// The act.
        act: Act,
    },
    /// How the task whose wakeup comes next has waited, if recorded.
    Waited {
        /// The task.
        task: TaskId,
        /// The call in which it waited.
        call: Call,
        /// What wakes it.
        source: Source,
    },
    /// A task starts to write to a pipe or a local socket, or has read from one, if recorded.
    Piped {
        /// The task.
        task: TaskId,
        /// The pipe, by the stream's own number, from 0.
        pipe: u32,
        /// The number of bytes.
        bytes: u32,
        /// Its capacity.
        room: Room,
        /// What the task does.
        how: Piping,
    },
    /// A recording missed events of the CPU just before: its buffer was full.
    Lost {
        /// The number of missed events.
        events: u32,
    },
}

impl What {
    /// Returns the class that it belongs to.
    #[inline]
    pub const fn class(&self) -> Class {
        match self {
            Self::Switch { .. }
            | Self::Wakeup { .. }
            | Self::Fork { .. }
            | Self::Exit { .. }
            | Self::Migrate { .. }
            | Self::Woken { .. }
            | Self::Pulled { .. }
            | Self::Online { .. }
            | Self::Bypass { .. }
            | Self::Priority { .. }
            | Self::Throttled { .. }
            | Self::Reserved { .. }
            | Self::Lost { .. } => Class::BRIEF,
            Self::Placed { .. } | Self::Kick { .. } => Class::DECISIONS,
            Self::Queued { .. } | Self::Unqueued { .. } | Self::Held { .. } => Class::PLACES,
            Self::Callback { .. } => Class::COSTS,
            Self::LockWait { .. } | Self::LockWaits { .. } | Self::Awaits { .. } => Class::LOCKS,
            Self::Count { .. } => Class::UNITS,
            Self::Worked { .. } | Self::Acts { .. } => Class::ACTS,
            Self::Waited { .. } | Self::Piped { .. } => Class::CALLS,
        }
    }
}

/// What a task does, for [`What::Acts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Wakes another task, which has its own wakeup event unless it had not left its CPU yet.
    Wakes {
        /// Which task.
        wakee: TaskId,
        /// Whether the waker is about to wait itself (`SCX_WAKE_SYNC`).
        sync: bool,
    },
    /// Starts to wait until another task wakes it.
    Waits,
    /// Goes to sleep.
    Sleeps {
        /// When its timer fires.
        until: Instant,
        /// What that instant is relative to.
        timer: Timer,
    },
    /// Starts on its own.
    Begins {
        /// When that was due.
        at: Instant,
    },
    /// Creates another task.
    Forks {
        /// Which task.
        child: TaskId,
        /// Whether it is a new process.
        process: bool,
    },
    /// Yields its CPU by `sched_yield()`.
    Yields,
    /// Ends.
    Exits,
}

/// What a sleep's end is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The instant when it began.
    Relative,
    /// A clock, whenever it began.
    Absolute,
    /// The instant when it began; the sleep ends at the first tick of its CPU after the given time
    /// (`TIMER_DEFERRABLE`).
    Deferrable,
}

/// Shorter waits for locks may be summed in one event ([`Class::BRIEF`]).
pub const SHORT_LOCK_WAIT: Span = Span::from_us(100);

/// A lock, for [`What::LockWait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// A CPU's runqueue lock.
    Runqueue(CpuId),
    /// A DSQ's lock.
    Dsq(DsqId),
    /// A `bpf_spin_lock`, by address.
    Bpf(u64),
}

/// A consumer of a stream.
pub trait Sink {
    /// Returns the classes of events that it wants.
    fn wants(&self) -> Class;

    /// Receives events, in order.
    fn events(&mut self, events: &[Event]);

    /// Receives a rarer fact, at its place among the events.
    fn meta(&mut self, at: Instant, meta: &Meta);
}
