//! What a CPU has left to do in the kernel, as a stack of small frames.
//!
//! A kernel path (a wakeup, a pick, a tick) is split into frames at its callbacks and lock waits, because it may be
//! suspended there while other CPUs continue. A frame is a name and some ids. Like a return address on a real kernel's
//! stack, it knows nothing about the code behind it. `run::step` maps each frame to its step; `paths::suspend` says
//! what may be held across it. Frames are pushed in reverse: the last step first.

pub(crate) mod cgroup;
pub(crate) mod fair;
pub(crate) mod rt;
pub(crate) mod stack;

use crate::state::dsq::Stay;
use crate::state::frame::cgroup::CgroupFrame;
use crate::state::frame::fair::FairFrame;
use crate::state::frame::rt::RtFrame;
use crate::state::task::Urgency;
use keel_abi::scx::wake;
use keel_abi::task::{ObjectId, Policy};
use keel_abi::{CpuId, TaskId};

/// One step of a kernel path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Resumes the innermost suspended callback.
    Resume,
    /// Releases a runqueue lock.
    Unlock { rq: CpuId },

    /// Continues the current task's program.
    Act,
    /// Takes the next interrupt from the inbox.
    Interrupt,
    /// Notifies one CPU of a kick that a callback asked for.
    Kick { target: CpuId, flags: u64 },

    /// Waits until the CPUs that this CPU kicked have picked.
    SyncWait,

    /// `try_to_wake_up()`: chooses a CPU.
    Wake { task: TaskId, flags: u64, waker: TaskId },
    /// The timer of a task's sleep has fired: wakes the task, if it still sleeps that sleep.
    WakeSleeper { task: TaskId, sleep: u32 },
    /// `ops.select_cpu` has returned its choice.
    WakeSelected { task: TaskId, flags: u64, waker: TaskId },
    /// A wakeup that another CPU has left to this one.
    QueuedWakeup { task: TaskId, waker: TaskId },
    /// Takes the chosen runqueue's lock.
    WakeLock { task: TaskId, target: CpuId, flags: u64, waker: TaskId },
    /// `ttwu_do_activate()`.
    WakeActivate { task: TaskId, target: CpuId, flags: u64, waker: TaskId },
    /// `wakeup_preempt()` and `task_woken_scx()`, for a task that has joined a runqueue: by a wakeup or by a move.
    Woken { task: TaskId, target: CpuId },

    /// `enqueue_task_scx()` after `ops.runnable`, then `do_enqueue_task()`.
    Enqueue { task: TaskId, enq_flags: u64 },
    /// `ops.enqueue` has returned.
    Enqueued { task: TaskId, enq_flags: u64 },
    /// Does deferred work of a runqueue (`deferred_irq_workfn()`).
    Reenqueue { rq: CpuId },
    /// `reenq_local()`: gives a local queue's tasks back to the scheduler, after `times` rounds.
    ReenqueueLocal { rq: CpuId, times: u32 },
    /// `reenq_user()`: a task in one of the scheduler's own queues, if it is still the same stay.
    ReenqueueTask { task: TaskId, stay: Stay },
    /// Reenqueues a task; `reason` is what `p->scx.flags` shows.
    EnqueueAgain { task: TaskId, reason: u32 },
    /// The task has been reenqueued.
    EnqueuedAgain { task: TaskId },
    /// All tasks have been reenqueued.
    Reenqueued { rq: CpuId },

    /// `__schedule()`: takes the CPU's own runqueue lock.
    Schedule,
    /// Takes a blocking task off the runqueue.
    Deactivate,
    /// `ops.quiescent`, after `ops.stopping`.
    Quiesce { task: TaskId },
    /// The end of `dequeue_task_scx()`.
    Deactivated { task: TaskId },
    /// `pick_next_task()`.
    Pick,
    /// `switch_class()`: `ops.cpu_release`.
    Release { next: TaskId },
    /// Calls `ops.dispatch`; this many calls are left for this pick.
    Dispatch { left: u32 },
    /// `ops.dispatch` has returned.
    Dispatched { left: u32 },
    /// No task was found.
    NothingFound,
    /// `put_prev_set_next_task()`.
    Switch { next: TaskId },
    /// `put_prev_task_scx()` after `ops.stopping`.
    PutPrev { prev: TaskId, next: TaskId },
    /// `set_next_task_scx()` or `set_next_task_idle()`.
    SetNext { prev: TaskId, next: TaskId },
    /// `ops.running` or `ops.update_idle` has returned. The previous task, if it is `dead`, otherwise the idle task.
    Scheduled { dead: TaskId },

    /// `task_tick_scx()`: takes the CPU's own runqueue lock.
    Tick,
    /// Charges the current task and calls `ops.tick`.
    TickLocked,
    /// The timer at the end of a fair task's slice.
    Hrtick,
    /// `ops.tick` has returned.
    Ticked,

    /// `yield_task_scx()`: takes the CPU's own runqueue lock.
    Yield,
    /// Calls `ops.yield`.
    YieldLocked,
    /// `ops.yield` has returned.
    Yielded,

    /// A new task: `ops.init_task`.
    ForkInit { child: TaskId, parent: TaskId },
    /// `ops.init_task` has returned.
    ForkInited { child: TaskId, parent: TaskId },
    /// `ops.set_weight`, after `ops.enable`.
    ForkWeight { child: TaskId, parent: TaskId },
    /// `wake_up_new_task()`.
    ForkWake { child: TaskId, parent: TaskId },

    /// A dead task: `ops.disable`.
    Reap { task: TaskId },
    /// `ops.exit_task`.
    ReapExit { task: TaskId },
    /// Forgets the dead task.
    Reaped { task: TaskId },

    /// The current task's nice value changes: takes its runqueue's lock.
    SetNice { task: TaskId, nice: i8 },
    /// `ops.quiescent`, before a change of the nice value.
    ChangeQuiesce { task: TaskId },
    /// Sets the nice value, with the task off its runqueue.
    ChangeNice { task: TaskId, nice: i8 },
    /// The current task sets its CPUs to those that the step at this place names: takes its runqueue's lock.
    SetCpus { task: TaskId, step: u32 },
    /// Sets the task's CPUs.
    ChangeCpus { task: TaskId, step: u32 },
    /// Sets the current task's mask that BPF sees to its CPU, or back to its own mask.
    Pin { task: TaskId, is_pinned: bool },
    /// Sets the mask, with the runqueue's lock held.
    Pinned { task: TaskId, is_pinned: bool },
    /// The task's migration-disabled section is over.
    SectionOver { task: TaskId },
    /// The current task sets its policy to the one that the step at this place names.
    SetPolicy { task: TaskId, step: u32 },
    /// `ops.quiescent`, before a change of class.
    PolicyQuiesce { task: TaskId, to: Urgency },
    /// `switched_from_scx()`: `ops.disable`.
    PolicyDisable { task: TaskId, to: Urgency },
    /// Sets the class and policy, with the task off its runqueue.
    ChangePolicy { task: TaskId, to: Urgency },
    /// Sets another policy of the same class.
    ChangeWithin { task: TaskId, policy: Policy },
    /// A task that the scheduler has taken over is runnable: `ops.runnable`.
    RestoreClass { task: TaskId, flags: u64 },
    /// `ops.running`, if it runs.
    RunClass { task: TaskId },
    /// The task is in its new class; `before` is its old real-time priority.
    PolicyChanged { task: TaskId, before: u8 },
    /// Puts a changed task back where it was.
    Restore { task: TaskId },
    /// `ops.running` again, for a changed task that runs.
    RestoreRunning { task: TaskId },
    /// A task that may not stay where it is moves (`migration_cpu_stop()`).
    PushAway { task: TaskId },
    /// The task has left its CPU.
    PushedAway { task: TaskId },
    /// A waiting task leaves its runqueue.
    PushWaiting { task: TaskId },
    /// The task joins another runqueue.
    MoveLock { task: TaskId, target: CpuId },

    /// Applies an entry of the timeline to its `nth` task or CPU.
    Happen { entry: u32, nth: u32 },
    /// Somebody else changes a task: takes the lock of its runqueue.
    OutsideLock { entry: u32, task: TaskId, rq: CpuId },
    /// Applies the change to the task, with the lock held.
    OutsideChange { entry: u32, task: TaskId },
    /// Checks whether the changed task may stay on its runqueue.
    OutsideSettle { task: TaskId, rq: CpuId },
    /// A runnable task leaves its runqueue for a change: `ops.quiescent`.
    TakeOff { task: TaskId, flags: u64 },
    /// The task comes back: `ops.runnable`.
    PutBack { task: TaskId, flags: u64 },
    /// `ops.running`, if it runs.
    PutBackRunning { task: TaskId },
    /// None of the task's CPUs is left: it may use all CPUs.
    Widen { task: TaskId },
    /// The stopper checks whether a task may stay.
    StopTask { task: TaskId },
    /// This CPU goes offline.
    Offline,
    /// Puts a runnable task of a CPU that goes offline into its local queue.
    Requeue { task: TaskId },
    /// `ops.cpu_online` or `ops.cpu_offline`.
    Hotplug { online: bool },
    /// It has returned.
    Hotplugged { online: bool },
    /// A CPU that goes offline is empty.
    Die,

    /// A woken waiter of a condition takes its mutex.
    Relock { mutex: ObjectId },

    /// A BPF timer's function.
    RunBpfTimer { timer: u32 },
    /// It has returned.
    BpfTimerDone { timer: u32 },

    /// User space runs a program.
    RunProgram { program: u32 },
    /// It has returned.
    ProgramDone { program: u32 },
    /// The program that a companion runs has returned.
    CompanionRan { number: u32 },

    /// The next program that traces switches.
    TraceSwitch { prev: TaskId, next: TaskId, nth: u32 },
    /// The next program that traces ticks.
    TraceTick { nth: u32 },
    /// The next program that traces the enabling.
    TraceReg { nth: u32 },

    /// A step of the fair class.
    Fair(FairFrame),
    /// A step of a path of the real-time class.
    Rt(RtFrame),

    /// A step of a cgroup path.
    Cgroup(CgroupFrame),

    /// Enabling: `ops.init` has returned.
    Inited,
    /// Enabling: the next existing task.
    EnableTask { task: TaskId },
    /// Enabling: the next existing task changes class, if the scheduler takes it.
    EnableSwitch { task: TaskId },
    /// Enabling: its `ops.init_task` has returned.
    EnableInited { task: TaskId },
    /// Enabling: `ops.set_weight`, after `ops.enable`.
    EnableWeight { task: TaskId },
    /// Enabling: `ops.set_cpumask`.
    EnableCpus { task: TaskId },
    /// Enabling: all tasks have been initialized.
    EnableDone,
    /// Bypass mode begins or ends on `cpu`, then on the next CPU.
    Bypass { cpu: CpuId, on: bool },
    /// Dequeues and enqueues one of that CPU's waiting tasks.
    BypassTask { task: TaskId },
    /// All of the CPU's tasks have been cycled.
    Bypassed { rq: CpuId },
    /// Settles a task whose class somebody else has changed on its runqueue, and releases that.
    SwitchSettle { task: TaskId, rq: CpuId },
    /// Disabling: the next task.
    DisableTask { task: TaskId },
    /// Disabling: `ops.disable`.
    DisableMember { task: TaskId },
    /// Somebody else takes a task from the scheduler: it joins its new class, and is queued there if it is runnable.
    LeaveClass { task: TaskId, policy: Policy, was_on: bool },
    /// Disabling: `ops.exit`.
    DisableExit,
    /// The scheduler has exited.
    Disabled,
    /// User space attaches a scheduler to a running machine.
    Attach,
    /// The kernel begins to enable it.
    BeginEnable,
}

pub(crate) fn wake_of(task: TaskId, waker: TaskId) -> Frame {
    Frame::Wake { task, flags: wake::TTWU, waker }
}
