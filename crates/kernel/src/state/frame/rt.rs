//! The steps of the real-time class's paths.

use keel_abi::task::ObjectId;
use keel_abi::{CpuId, TaskId};

/// One step of a path of the real-time class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RtFrame {
    /// `push_rt_tasks()` of a locked runqueue, after so many failed tries for its first task.
    Push { rq: CpuId, tries: u8 },
    /// `find_lock_lowest_rq()`: takes both locks for a push of `task`.
    PushTo { rq: CpuId, target: CpuId, task: TaskId, tries: u8 },
    /// `pull_rt_task()` of the own, locked runqueue, from this CPU on; within a pick, or after a change.
    Pull { from: u32, in_pick: bool },
    /// Takes both locks for a pull.
    PullFrom { source: CpuId, in_pick: bool },
    /// `rto_push_irq_work_func()`: another CPU has come down; takes the own runqueue's lock.
    Asked,
    /// Asks the next overloaded CPU.
    AskNext,
    /// `rt_mutex_adjust_prio_chain()`: a task's inherited priority may have changed, so many steps from where that began.
    Adjust { task: TaskId, depth: u16 },
    /// Takes the lock of the task's runqueue for that.
    AdjustLock { task: TaskId, rq: CpuId, depth: u16 },
    /// It has changed.
    Adjusted { task: TaskId, rq: CpuId, depth: u16 },
    /// And so the mutex that it waits for may be another's now, or its owner more urgent.
    AdjustNext { task: TaskId, depth: u16 },
    /// The current task waits for a mutex, unless it is free by now.
    AwaitMutex { mutex: ObjectId },
    /// A mutex that hands priorities on is free: the waiter that came first is notified.
    Freed { mutex: ObjectId, first: TaskId, waker: TaskId },
    /// `do_sched_rt_period_timer()`, from this CPU on.
    Replenish { from: u32 },
    /// What was deferred on a runqueue is done, and its lock given back.
    Finish { rq: CpuId },
}
