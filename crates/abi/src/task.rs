//! What a task does, as data: a small program of steps, which the `workload` crate makes and the `kernel` crate
//! executes.

use crate::cgroup::{Cgroup, CgroupId, CgroupStep};
use crate::tape::SharedRecorded;
use crate::timeline::Happening;
use crate::{CpuSet, Span};

/// A length that may vary from one use to the next, uniformly within `base - spread ..= base + spread`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The mean.
    pub base: Span,
    /// How far it may be from the mean; at most `base`.
    pub spread: Span,
}

impl Amount {
    /// Creates an amount that is always the same.
    pub const fn fixed(base: Span) -> Self {
        Self { base, spread: Span::ZERO }
    }
}

/// A mutex, condition, barrier or timer of the workload, numbered from 0 without gaps within its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// How a timer's next expiry follows from the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerMode {
    /// Counted from the previous expiry, or from now if the result has already passed (rt-app's `relative`).
    Relative,
    /// Counted from the previous expiry, however late the task is (rt-app's `absolute`).
    Absolute,
}

/// One step of a task's program. `Jump` targets are indices into [`TaskSpec::steps`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Works for this long on an undisturbed CPU of nominal speed.
    Run(Amount),
    /// Keeps a CPU busy until this much time has passed, however little of it the task ran.
    RunFor(Span),
    /// Blocks for this long.
    Sleep(Amount),
    /// Blocks until the first tick of its CPU after this long, as a kernel thread does with a deferrable timer
    /// (`TIMER_DEFERRABLE`): an idle CPU has no tick, and isn't woken for it.
    SleepDeferrable(Amount),
    /// Blocks until the timer's next expiry, `period` after the last. As in rt-app, the first is counted from the
    /// task's start (after its delay), not from this step. Timers with ids below [`Workload::timers`] belong to each
    /// task, the others are shared by all tasks.
    Timer {
        /// The timer.
        timer: ObjectId,
        /// From one expiry to the next.
        period: Span,
        /// What the next expiry is counted from.
        mode: TimerMode,
    },
    /// Locks a mutex, blocking while another task holds it. A task that already holds it continues.
    Lock(ObjectId),
    /// Unlocks a mutex and wakes its first waiter. Real-time tasks come first, by priority. Does nothing if another
    /// task holds it.
    Unlock(ObjectId),
    /// Waits on a condition, releasing the mutex meanwhile.
    Wait {
        /// The condition.
        condition: ObjectId,
        /// The mutex that is released and locked again.
        mutex: ObjectId,
    },
    /// Wakes one waiter of a condition.
    Signal(ObjectId),
    /// Wakes all waiters of a condition.
    Broadcast(ObjectId),
    /// rt-app's `sync`: signals the condition, then waits on it with the mutex released.
    Sync {
        /// The condition.
        condition: ObjectId,
        /// The mutex.
        mutex: ObjectId,
    },
    /// Blocks until all tasks that use the barrier have reached it.
    Barrier(ObjectId),
    /// Like `Barrier`, but keeps its CPU busy until then, as OpenMP's threads do. The task is runnable all the time,
    /// and continues at once if it has a CPU.
    SpinBarrier {
        /// The barrier.
        barrier: ObjectId,
        /// How long it spins before it blocks; `None` to never block.
        patience: Option<Span>,
    },
    /// Raises a flag. If it is already up, first keeps its CPU busy until another task has lowered it.
    Raise(ObjectId),
    /// Lowers a flag. If it is already down, first keeps its CPU busy until another task has raised it.
    Lower(ObjectId),
    /// `sched_yield()`.
    Yield,
    /// Starts one more instance of the task spec with this index as a thread: in the same process, with the same
    /// memory.
    Fork(u32),
    /// `fork()`: starts one more instance of the task spec with this index as a child process of this task. It gets
    /// this task's pages, shared until either side writes to them.
    Spawn(u32),
    /// `execve()`: the task continues with a new, empty address space. [`Step::Write`] adds pages to it.
    Exec,
    /// `setsid()`: the task's process leaves its session for a new one with an autogroup of its own, in which its
    /// future children start. Does nothing if it already leads a session (`EPERM`).
    Setsid,
    /// Sets the nice value of its session's autogroup (`/proc/self/autogroup`). Does nothing in the session of the
    /// kernel's first task, whose autogroup is the root (`EINVAL`).
    AutogroupNice(i8),
    /// `waitpid()` for any child that [`Step::Spawn`] started: blocks until one has exited. Continues at once if the
    /// task has no child (`ECHILD`).
    WaitChild,
    /// Writes to this many pages at the start of its address space. A page that doesn't exist yet costs a page fault;
    /// one that another process still shares, a fault and a copy; one that is no longer shared, a cheap fault. Any
    /// other page costs nothing.
    Write(u32),
    /// Reads its working set of this many bytes. The part that is not in the nearest cache costs the time to fetch it.
    Touch(u64),
    /// Writes bytes to a channel, blocking while it is full.
    Send {
        /// The channel.
        channel: ObjectId,
        /// The number of bytes, at least 1.
        bytes: u32,
    },
    /// Reads bytes from a channel, blocking until all of them have arrived.
    Receive {
        /// The channel.
        channel: ObjectId,
        /// The number of bytes, at least 1.
        bytes: u32,
    },
    /// Posts a semaphore, and wakes one waiter.
    Post {
        /// The semaphore.
        semaphore: ObjectId,
        /// Whether the waker is about to wait itself (`SCX_WAKE_SYNC`).
        sync: bool,
    },
    /// Waits until a semaphore has been posted, and takes the post.
    Await(ObjectId),
    /// Executes the ops on the tape of the task's spec ([`Workload::recorded`]).
    Play,
    /// A system call that does nothing.
    Syscall,
    /// Begins the task's own work: its timers count from here, not from when it started.
    Begin,
    /// Sets the nice value, -20 to 19.
    Nice(i8),
    /// Confines the task to these CPUs. An empty set undoes an earlier step.
    Affinity(CpuSet),
    /// Sets the scheduling policy (`sched_setscheduler()`).
    Policy(Policy),
    /// `migrate_disable()`: from now on the task must not leave its CPU. Such sections nest.
    MigrateDisable,
    /// `migrate_enable()`: ends a migration-disabled section. Does nothing outside one.
    MigrateEnable,
    /// Repeats from step `to` until the loop has been executed `times` times, or forever if that is `None`. `slot` is
    /// the counter, numbered from 0 without gaps within the task. It is reset when the loop ends.
    Loop {
        /// The step to go back to.
        to: u32,
        /// The total number of iterations, at least 1.
        times: Option<u32>,
        /// The counter.
        slot: u8,
    },
    /// Counts one unit of the workload's throughput as done.
    Count,
    /// Creates, changes or joins a cgroup.
    Cgroup(CgroupStep),
    /// Does what the [companion](crate::companion::Companion) with this number does, forever.
    Accompany(u32),
}

/// The kind of a channel, which determines its wakeups and costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelKind {
    /// A pipe. Its wakeups are synchronous (`SCX_WAKE_SYNC`): the waker is about to wait.
    #[default]
    Pipe,
    /// A local stream socket (`AF_UNIX`).
    Unix,
    /// A TCP connection over the loopback device.
    Tcp,
    /// A queue in memory that threads share, protected by a mutex and a condition. Only waiting and waking take a
    /// system call.
    Queue,
}

/// A bounded buffer of bytes between tasks, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Its kind.
    pub kind: ChannelKind,
    /// Its capacity in bytes, at least 1.
    pub capacity_bytes: u32,
}

/// A scheduling policy, with its priority if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`: an ordinary task.
    #[default]
    Other,
    /// `SCHED_FIFO` with this priority, 1 to 99; higher is more urgent.
    Fifo(u8),
    /// `SCHED_RR` with this priority, 1 to 99.
    RoundRobin(u8),
    /// `SCHED_EXT`: asks for the sched_ext scheduler, which also takes ordinary tasks unless it was attached with
    /// `SCX_OPS_SWITCH_PARTIAL`.
    Ext,
    /// `SCHED_BATCH`: like `SCHED_OTHER`, but its wakeups preempt no task.
    Batch,
    /// `SCHED_IDLE`: gets next to nothing while others want the CPU.
    Idle,
}

impl Policy {
    /// Returns its number in the kernel (`task_struct.policy`).
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

    /// Returns the kernel's internal priority of a task with this policy and nice value (`__normal_prio()`). Lower is
    /// more urgent.
    pub const fn priority(self, nice: i8) -> i32 {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => 99 - priority as i32,
            Self::Other | Self::Batch | Self::Idle | Self::Ext => 120 + nice as i32,
        }
    }

    /// Returns the priority of a real-time policy, or 0 for others (`task_struct.rt_priority`).
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

/// A hint to the scheduler to treat a task as a real-time task. It is written to the scheduler's task storage map
/// `hints`, if it has one, before `ops.init_task`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The priority, 1 to 99; higher is more urgent.
    pub rt_priority: u8,
    /// FIFO or round-robin.
    pub policy: HintPolicy,
}

/// A task as the workload describes it: its name, how it starts, and what it does. It exits after its last step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSpec {
    /// Its name, which all instances share.
    pub name: String,
    /// The number of instances that start on their own, without another task starting them.
    pub instances: u32,
    /// When they start, counted from the start of the run.
    pub delay: Span,
    /// The initial nice value, -20 to 19.
    pub nice: i8,
    /// The CPUs that it may use; empty for all.
    pub cpus: CpuSet,
    /// What it does.
    pub steps: Vec<Step>,
    /// The process of the instances that start on their own. All with the same number are threads of one process, with
    /// one address space.
    pub process: u32,
    /// The session of the instances that start on their own. The first one with each number starts it, as if by
    /// `setsid()`. 0 is the session of the kernel's first task. All tasks of a process have the same; children are in
    /// their parent's.
    pub session: u32,
    /// The number of pages that such a process starts with, if this spec's instance is its first task.
    pub pages: u32,
    /// The hint to treat it as a real-time task, if any. Children inherit it unless they have their own.
    pub hint: Option<Hint>,
    /// The initial policy.
    pub policy: Policy,
    /// The slice that it requests from the fair class (`sched_attr::sched_runtime`); `None` for the class's default.
    pub slice: Option<Span>,
    /// Whether it is a kernel thread: without an address space, with `PF_KTHREAD`, and with `PF_NO_SETAFFINITY` if it
    /// is confined to CPUs.
    pub kthread: bool,
    /// The cgroup that it starts in (`CLONE_INTO_CGROUP`). `None` for its parent's, or the root for those that start on
    /// their own.
    pub cgroup: Option<CgroupId>,
}

/// A whole workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Its tasks, in the order of the file.
    pub tasks: Vec<TaskSpec>,
    /// For each barrier, the number of tasks that it waits for.
    pub barriers: Vec<u32>,
    /// The number of flags. All are down at first.
    pub flags: u32,
    /// The number of mutexes.
    pub mutexes: u32,
    /// The mutexes with priority inheritance (`PTHREAD_PRIO_INHERIT`), each once.
    pub inheriting: Vec<ObjectId>,
    /// The number of conditions.
    pub conditions: u32,
    /// The number of timers that each task has of its own. Ids from here on are shared timers.
    pub timers: u32,
    /// Pipes, sockets and queues, by [`ObjectId`].
    pub channels: Vec<Channel>,
    /// Its cgroups, in the order of creation.
    pub cgroups: Vec<Cgroup>,
    /// The duration that the file specifies. `--duration` overrides it.
    pub duration: Option<Span>,
    /// The unit of [`Step::Count`], for printing: `loops`, `messages`.
    pub unit: String,
    /// What happens from outside during the run.
    pub timeline: Vec<Happening>,
    /// The number of semaphores.
    pub semaphores: u32,
    /// What tasks did in the recording from which it was made. This already includes kernel threads and everything that
    /// varies between runs.
    pub recorded: Option<SharedRecorded>,
}
