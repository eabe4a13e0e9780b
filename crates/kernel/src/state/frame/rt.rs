//! The steps of the real-time class's paths.

use keel_abi::task::ObjectId;
use keel_abi::{CpuId, TaskId};

/// One step of a path of the real-time class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RtFrame {
    /// `push_rt_tasks()` of a locked runqueue, after `tries` failed tries for its first task.
    Push { rq: CpuId, tries: u8 },
    /// `find_lock_lowest_rq()`: takes both locks for a push of `task`.
    PushTo { rq: CpuId, target: CpuId, task: TaskId, tries: u8 },
    /// `pull_rt_task()` for the CPU's own, locked runqueue, starting with the CPU `from`; in a pick or after a change.
    Pull { from: u32, in_pick: bool },
    /// Takes both locks for a pull.
    PullFrom { source: CpuId, in_pick: bool },
    /// `rto_push_irq_work_func()`: another CPU runs something less urgent now; takes the CPU's own runqueue lock.
    Asked,
    /// Asks the next overloaded CPU.
    AskNext,
    /// `rt_mutex_adjust_prio_chain()`: a task's inherited priority may have changed, `depth` steps into the chain.
    Adjust { task: TaskId, depth: u16 },
    /// Takes the lock of the task's runqueue for that.
    AdjustLock { task: TaskId, rq: CpuId, depth: u16 },
    /// The priority has changed.
    Adjusted { task: TaskId, rq: CpuId, depth: u16 },
    /// So the mutex that it waits for may have another owner, or the owner may be more urgent.
    AdjustNext { task: TaskId, depth: u16 },
    /// The current task waits for a mutex, unless the mutex is free by now.
    AwaitMutex { mutex: ObjectId },
    /// A mutex with priority inheritance is free: its first waiter is notified.
    Freed { mutex: ObjectId, first: TaskId, waker: TaskId },
    /// `do_sched_rt_period_timer()`, starting with the CPU `from`.
    Replenish { from: u32 },
    /// Does a runqueue's deferred work and releases its lock.
    Finish { rq: CpuId },
}
