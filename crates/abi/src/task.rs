//! What a task does: a small program of steps, made by the `workload` crate and executed by the
//! `kernel` crate. Data only.

use crate::cgroup::{Cgroup, CgroupId, CgroupStep};
use crate::tape::SharedRecorded;
use crate::timeline::Happening;
use crate::{CpuSet, Span};

/// A length that may vary from one use to the next: uniform in `base - spread ..= base + spread`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The middle.
    pub base: Span,
    /// How far it may lie from the middle; at most `base`.
    pub spread: Span,
}

impl Amount {
    /// Always the same length.
    pub const fn fixed(base: Span) -> Self {
        Self { base, spread: Span::ZERO }
    }
}

/// A mutex, condition, barrier or timer of the workload, dense from 0 within its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// How a timer's next expiry follows from the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerMode {
    /// From the previous expiry; where that is past already, from now (rt-app's `relative`).
    Relative,
    /// From the previous expiry, however late (rt-app's `absolute`).
    Absolute,
}

/// One step of a task's program. `Jump` targets are indices into [`TaskSpec::steps`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Work that takes this long on an undisturbed CPU of nominal speed.
    Run(Amount),
    /// Keeps a CPU busy until this much time has passed, however little of it the task got.
    RunFor(Span),
    /// Blocks for this long.
    Sleep(Amount),
    /// Blocks until the first tick of its CPU after this long, as a kernel thread does with a deferrable timer
    /// (`TIMER_DEFERRABLE`): an idle CPU has no tick, and isn't woken for it.
    SleepDeferrable(Amount),
    /// Blocks until the timer's next expiry, `period` after the last. The first is counted from the
    /// task's start (after its delay), as rt-app does, not from this step. Ids below
    /// [`Workload::timers`] are each task's own, the others are shared by all tasks.
    Timer {
        /// The timer.
        timer: ObjectId,
        /// From one expiry to the next.
        period: Span,
        /// What the next expiry is counted from.
        mode: TimerMode,
    },
    /// Takes a mutex, and blocks while another task holds it. A task that already holds it continues.
    Lock(ObjectId),
    /// Releases a mutex, and wakes its first waiter: real-time tasks come first, the most urgent before others. Other
    /// tasks' mutexes are left alone.
    Unlock(ObjectId),
    /// Waits on a condition, giving up the mutex meanwhile.
    Wait {
        /// The condition.
        condition: ObjectId,
        /// The mutex that is given up and taken again.
        mutex: ObjectId,
    },
    /// Wakes one waiter of a condition.
    Signal(ObjectId),
    /// Wakes all waiters of a condition.
    Broadcast(ObjectId),
    /// rt-app's `sync`: signals the condition, then waits on it with the mutex given up.
    Sync {
        /// The condition.
        condition: ObjectId,
        /// The mutex.
        mutex: ObjectId,
    },
    /// Blocks until as many tasks as use it have come.
    Barrier(ObjectId),
    /// The same, but keeps its CPU busy until then, as OpenMP's threads do: it wants a CPU all the time, and goes on at once
    /// where it has one.
    SpinBarrier {
        /// The barrier.
        barrier: ObjectId,
        /// It blocks after so much work of waiting; `None`: never.
        patience: Option<Span>,
    },
    /// Raises a flag; while it is up, keeps its CPU busy until another task has lowered it.
    Raise(ObjectId),
    /// Lowers a flag; while it is down, keeps its CPU busy until another task has raised it.
    Lower(ObjectId),
    /// `sched_yield()`.
    Yield,
    /// Starts one more instance of the task spec with this index, as a thread: in the same process,
    /// with the same memory.
    Fork(u32),
    /// `fork()`: starts one more instance of the task spec with this index as a process of its own,
    /// a child of this task. It gets this task's pages, shared until either side writes them.
    Spawn(u32),
    /// `execve()`: the task goes on with a new, empty address space; its pages come with
    /// [`Step::Write`].
    Exec,
    /// `setsid()`: the task's process leaves its session for a new one with an autogroup of its own, and its
    /// children are born there. Nothing where it leads a session already (`EPERM`).
    Setsid,
    /// Writes the nice value of its session's autogroup (`/proc/self/autogroup`). Nothing for the session of the kernel's
    /// first task, whose autogroup is the root (`EINVAL`).
    AutogroupNice(i8),
    /// `waitpid()` for any child that [`Step::Spawn`] made: blocks until one has exited. Goes on at once where
    /// the task has no child (`ECHILD`).
    WaitChild,
    /// Writes to the first this many pages of its address space. A page that is not there yet costs a page fault; one
    /// that another process still shares, a fault and a copy; one that is no longer shared, a cheap fault; any other
    /// page costs nothing.
    Write(u32),
    /// Goes over its working set of this many bytes. What of it is not in the nearest cache costs what
    /// bringing it there takes.
    Touch(u64),
    /// Puts bytes into a channel, blocking while it is full.
    Send {
        /// The channel.
        channel: ObjectId,
        /// How many bytes, at least 1.
        bytes: u32,
    },
    /// Takes bytes out of a channel, blocking until all of them have come.
    Receive {
        /// The channel.
        channel: ObjectId,
        /// How many bytes, at least 1.
        bytes: u32,
    },
    /// Posts a semaphore, and wakes one waiter.
    Post {
        /// The semaphore.
        semaphore: ObjectId,
        /// The waker is about to wait itself (`SCX_WAKE_SYNC`).
        sync: bool,
    },
    /// Waits until a semaphore has been posted, and takes that.
    Await(ObjectId),
    /// Does the ops on the tape of the task's spec ([`Workload::recorded`]).
    Play,
    /// A system call that does nothing.
    Syscall,
    /// The task's own work begins now: its timers count from here, not from when it started.
    Begin,
    /// Sets the nice value, -20 to 19.
    Nice(i8),
    /// Confines the task to these CPUs; empty lifts what an earlier step confined.
    Affinity(CpuSet),
    /// Sets the scheduling policy (`sched_setscheduler()`).
    Policy(Policy),
    /// `migrate_disable()`: from now on the task may not leave its CPU. Spells nest.
    MigrateDisable,
    /// `migrate_enable()`: ends a migration-disabled section. Does nothing outside one.
    MigrateEnable,
    /// Repeats from step `to` until it has been passed `times` times; `None` for ever. `slot` is
    /// the counter, dense from 0 within the task; it is reset when the loop is left.
    Loop {
        /// The step to go back to.
        to: u32,
        /// Passes in all, at least 1.
        times: Option<u32>,
        /// Which counter.
        slot: u8,
    },
    /// One unit of the workload's throughput is done.
    Count,
    /// Makes, changes or joins a cgroup.
    Cgroup(CgroupStep),
    /// Does for ever what the [companion](crate::companion::Companion) with this number does.
    Accompany(u32),
}

/// What a channel is: its wakeups and its costs follow from that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelKind {
    /// A pipe. Its wakeups are synchronous (`SCX_WAKE_SYNC`): the waker is about to wait.
    #[default]
    Pipe,
    /// A stream socket of the host itself (`AF_UNIX`).
    Unix,
    /// A TCP connection over the loopback device.
    Tcp,
    /// A queue in memory that threads share, under a mutex and a condition: there is a system call only to
    /// wait and to wake.
    Queue,
}

/// A bounded buffer of bytes between tasks, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// What it is.
    pub kind: ChannelKind,
    /// The most bytes that it holds, at least 1.
    pub capacity_bytes: u32,
}

/// A scheduling policy, with its priority where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`: it belongs to the scheduler of ordinary tasks.
    #[default]
    Other,
    /// `SCHED_FIFO` with this priority, 1 to 99; higher is more urgent.
    Fifo(u8),
    /// `SCHED_RR` with this priority, 1 to 99.
    RoundRobin(u8),
    /// `SCHED_EXT`: asks for the sched_ext scheduler, which also takes ordinary tasks unless it was attached with
    /// `SCX_OPS_SWITCH_PARTIAL`.
    Ext,
    /// `SCHED_BATCH`: as `SCHED_OTHER`, but its wakeups preempt no task.
    Batch,
    /// `SCHED_IDLE`: gets next to nothing where others want the CPU.
    Idle,
}

impl Policy {
    /// Its number in the kernel (`task_struct.policy`).
    pub const fn number(self) -> u32 {
        match self {
            Self::Other => 0,
            Self::Fifo(_) => 1,
            Self::RoundRobin(_) => 2,
            Self::Batch => 3,
            Self::Idle => 5,
            Self::Ext => 7,
        }
    }

    /// The kernel's own priority of a task with this policy and nice value (`__normal_prio()`): lower is more urgent.
    pub const fn priority(self, nice: i8) -> i32 {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => 99 - priority as i32,
            Self::Other | Self::Batch | Self::Idle | Self::Ext => 120 + nice as i32,
        }
    }

    /// The priority of a real-time policy, 0 for others (`task_struct.rt_priority`).
    pub const fn rt_priority(self) -> u8 {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => priority,
            Self::Other | Self::Batch | Self::Idle | Self::Ext => 0,
        }
    }
}

/// The policy of a real-time hint, numbered as in the schedulers' `hints` map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintPolicy {
    /// `SCHED_FIFO`.
    Fifo = 1,
    /// `SCHED_RR`.
    Rr = 2,
}

/// The hint to a scheduler that a task is to be a real-time one: delivered into its task storage map
/// `hints`, where it has one, before `ops.init_task`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// 1 to 99, higher is more urgent.
    pub rt_priority: u8,
    /// First come, first served, or by turns.
    pub policy: HintPolicy,
}

/// A task as the workload describes it: its name, how it starts, what it does. It exits after its last step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSpec {
    /// Its name; instances share it.
    pub name: String,
    /// How many instances start by themselves.
    pub instances: u32,
    /// When they start, after the run's beginning.
    pub delay: Span,
    /// The nice value it starts with, -20 to 19.
    pub nice: i8,
    /// The CPUs it may use; empty for all.
    pub cpus: CpuSet,
    /// What it does.
    pub steps: Vec<Step>,
    /// The process that instances belong to which start by themselves: all with the same number are
    /// threads of one, with one address space.
    pub process: u32,
    /// The session that instances belong to which start by themselves: the first of each number begins it, as
    /// by `setsid()`. 0 is the session of the kernel's first task. All tasks of a process have the same; children are
    /// in their parent's.
    pub session: u32,
    /// Pages that such a process begins with, if this spec's instance is its first task.
    pub pages: u32,
    /// Is it to be a real-time task? Children inherit it, unless they have one of their own.
    pub hint: Option<Hint>,
    /// The policy that it starts with.
    pub policy: Policy,
    /// What it asks the fair class to run it for at a time (`sched_attr::sched_runtime`); without one the class's own.
    pub slice: Option<Span>,
    /// It is a kernel thread: no address space, `PF_KTHREAD`, and where it is confined to CPUs
    /// `PF_NO_SETAFFINITY`.
    pub kthread: bool,
    /// The cgroup that it is born in (`CLONE_INTO_CGROUP`); without one its parent's, the root for those that
    /// start by themselves.
    pub cgroup: Option<CgroupId>,
}

/// A whole workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Its tasks, in the order of the file.
    pub tasks: Vec<TaskSpec>,
    /// For each barrier, how many tasks it waits for.
    pub barriers: Vec<u32>,
    /// How many flags there are, all of them down to begin with.
    pub flags: u32,
    /// How many mutexes there are.
    pub mutexes: u32,
    /// Those of them with priority inheritance (`PTHREAD_PRIO_INHERIT`), each once.
    pub inheriting: Vec<ObjectId>,
    /// How many conditions there are.
    pub conditions: u32,
    /// How many timers there are in each task's own right, and shared ones beyond.
    pub timers: u32,
    /// Pipes and sockets, by [`ObjectId`].
    pub channels: Vec<Channel>,
    /// Its cgroups, in the order in which they are made.
    pub cgroups: Vec<Cgroup>,
    /// How long the file itself asks to run; a given `--duration` wins.
    pub duration: Option<Span>,
    /// The unit of [`Step::Count`], for printing: `loops`, `messages`.
    pub unit: String,
    /// What happens from outside meanwhile.
    pub timeline: Vec<Happening>,
    /// How many semaphores there are.
    pub semaphores: u32,
    /// What tasks did in the recording that it was made from. It already contains kernel threads and everything that
    /// varies between runs.
    pub recorded: Option<SharedRecorded>,
}
