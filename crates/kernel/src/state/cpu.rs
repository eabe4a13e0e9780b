//! The state of a CPU in the simulated kernel.
//!
//! A CPU is in user mode (or idle) while its frame stack is empty, and otherwise in the kernel. In the kernel its own
//! clock runs ahead by the cost of its steps; it takes a step only when no other CPU has something earlier to do
//! ([`crate::run::main_loop`]).

use crate::state::callback::{Callback, Caller, DispatchBuffer};
use crate::state::class::SchedClass;
use crate::state::deferrable::DeferrableTimers;
use crate::state::errands::Errands;
use crate::state::fair::budget_timer::BudgetTimer;
use crate::state::fair::ids::Slot;
use crate::state::fair::queue::FairQueue;
use crate::state::frame::stack::Stack;
use crate::state::frequency::Perf;
use crate::state::pauses::Pauses;
use crate::state::rt::queue::RtQueue;
use crate::state::rt::server::ClassServer;
use crate::state::runqueue_lock::RqLock;
use crate::state::scx::queues::QueueId;
use crate::state::ticks::Ticks;
use keel_abi::lines::{Holder, full_ns};
use keel_abi::{CpuId, CpuSet, DsqId, Instant, Span, TaskId};
use std::collections::VecDeque;

/// A queue whose tasks are given back to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reenqueued {
    /// A runqueue's local queue.
    Local(CpuId),
    /// One of the scheduler's own queues.
    User(DsqId),
}

/// Something that interrupts a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Irq {
    /// A task's sleep is over; the number distinguishes sleeps.
    Sleeper(TaskId, u32),
    /// A wakeup that another CPU left to this one.
    Wakeup { task: TaskId, waker: TaskId },
    /// A task of the workload starts.
    Start(u32),
    /// A BPF timer fires; the number is its place in the timer table.
    BpfTimer(u32),
    /// User space runs a program of the scheduler; the number is its index.
    Program(u32),
    /// The server for that CPU's starving tasks of a class checks.
    Server(CpuId, SchedClass),
    /// Real-time tasks get the time of the next period.
    RtPeriod,
    /// The stall watchdog checks.
    Watchdog,
    /// An entry of the timeline is due, or continues with its next CPU or task.
    Happening { entry: u32, nth: u32 },
    /// The stopper checks whether a task may stay.
    Stop(TaskId),
    /// Another CPU runs a less urgent task than the one that waits here.
    PushRt,
    /// This CPU's fair task would run better on another CPU.
    PushFair,
    /// This CPU balances for all idle ones.
    Nohz,
    /// A period of a group's `cpu.max` is over, or its CPUs have returned runtime.
    Budget(BudgetTimer),
    /// A group may run here again.
    Unthrottle(Slot),
    /// This CPU goes offline.
    Offline,
    /// This CPU has come online.
    Online,
    /// User space attaches a scheduler.
    Attach,
    /// A device, with the softirq that it raises.
    Device,
}

impl Irq {
    /// Returns whether one of the CPU's own timers causes it. Otherwise another CPU does, by an IPI.
    pub(crate) const fn is_timer(self) -> bool {
        match self {
            Self::Wakeup { .. }
            | Self::Stop(_)
            | Self::PushRt
            | Self::PushFair
            | Self::Nohz
            | Self::Unthrottle(_)
            | Self::Offline
            | Self::Online
            | Self::Attach
            | Self::Device => false,
            Self::Sleeper(..)
            | Self::Start(_)
            | Self::BpfTimer(_)
            | Self::Program(_)
            | Self::Server(..)
            | Self::RtPeriod
            | Self::Watchdog
            | Self::Happening { .. }
            | Self::Budget(_) => true,
        }
    }
}

/// The unfinished work of a step on a CPU that waits for its turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// When this work began.
    pub(crate) from_ns: u64,
    pub(crate) work_ns: u64,
    /// When it will be done; the CPU's clock shows this.
    pub(crate) done_at_ns: u64,
}

impl Pending {
    /// Returns whether the CPU waits for this work at `at`. Its clock may have been set by something else since, such
    /// as a lock.
    pub(crate) fn is_under_way(self, clock: Instant, at: Instant) -> bool {
        self.done_at_ns == clock.as_ns() && self.from_ns <= at.as_ns() && clock > at
    }
}

/// How long a CPU has been idle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdleTime {
    before: Span,
    since: Instant,
}

impl IdleTime {
    /// The CPU goes idle.
    pub(crate) fn begin(&mut self, at: Instant) {
        self.since = at;
    }

    /// The CPU becomes busy.
    pub(crate) fn end(&mut self, at: Instant) {
        self.before = self.total(true, at);
    }

    /// The total up to `now`; `is_idle` says whether the CPU is idle then.
    pub(crate) fn total(self, is_idle: bool, now: Instant) -> Span {
        if is_idle { self.before + now.max(self.since).since(self.since) } else { self.before }
    }
}

/// When a clock that shows `at` has moved on by this much, in whole nanoseconds. Unlike an addition of a span it need
/// not look for an overflow: no step takes as long as [`full_ns`] can convert.
#[inline(always)]
pub(crate) fn after_ps(at: Instant, ps: u64) -> Instant {
    Instant::from_ns(at.as_ns() + full_ns(ps))
}

/// A CPU. The fields are in their order in memory: on a large machine a CPU that goes on has rarely its lines in the
/// host's nearest cache, so the fields that each step touches come first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Cpu {
    /// Its own clock, in the kernel.
    pub(crate) clock: Instant,
    /// Costs not yet on the clock, in picoseconds.
    pub(crate) spent_ps: u64,
    /// The running task, or [`TaskId::IDLE`].
    pub(crate) curr: TaskId,
    /// It should reschedule.
    pub(crate) need_resched: bool,
    /// In user mode or idle.
    pub(crate) in_user: bool,
    /// The class of the running task, or of a more urgent one that has arrived since (`rq->next_class`).
    pub(crate) next_class: SchedClass,
    /// A pick is in progress (`SCX_RQ_IN_BALANCE`).
    pub(crate) in_balance: bool,
    /// When the interrupt for a reschedule arrives; never if the CPU only checks when it next leaves the kernel.
    pub(crate) resched_at: Instant,
    /// When its ticks are due.
    pub(crate) ticks: Ticks,
    /// When the current task's work is done at the current speed.
    pub(crate) work_done_at: Instant,
    /// Since when the current task has been working undisturbed.
    pub(crate) working_since: Instant,
    /// Why it may not simply take its next step.
    pub(crate) pauses: Pauses,
    /// Its tasks work at nominal speed, whatever other CPUs do.
    pub(crate) has_plain_speed: bool,
    /// What it has to do before it returns to user mode.
    pub(crate) errands: Errands,
    /// What is left to do in the kernel, last first.
    pub(crate) stack: Stack,
    /// How it takes cache lines.
    pub(crate) holder: Holder,
    /// What the last callback returned.
    pub(crate) returned: u64,
    /// How often it has picked (`kick_sync`).
    pub(crate) picks: u64,
    /// Runnable tasks of this runqueue, the running one included.
    pub(crate) nr_running: u32,
    /// Immediate tasks in its local queue: they run at once or are reenqueued (`nr_immed`).
    pub(crate) nr_immed: u32,
    /// The callback in progress, if any; the innermost.
    pub(crate) callback: Callback,
    pub(crate) lock: RqLock,
    /// A higher class has taken it from the scheduler, which was notified (`cpu_released`).
    pub(crate) released: bool,
    /// That pick is still to come (`kick_sync_pending`).
    pub(crate) sync_pending: bool,
    /// The kernel itself schedules the scheduler's tasks here (`SCX_RQ_BYPASSING`).
    pub(crate) bypassing: bool,
    /// The scheduler may use it (`cpu_active()` and `SCX_RQ_ONLINE`).
    pub(crate) online: bool,
    /// It is running at all (`cpu_online()`).
    pub(crate) alive: bool,
    /// The stopper, not the idle task, is on the CPU: it has just pushed a task away, and the scheduler has not been
    /// notified that the CPU is idle.
    pub(crate) in_stopper: bool,
    /// Its speed depends on other CPUs: it has siblings, or CPUs take turns.
    pub(crate) shares_speed: bool,
    pub(crate) dispatch: DispatchBuffer,
    /// The global queue of its node.
    pub(crate) global: QueueId,
    /// Tasks bound for other CPUs' local queues (`ddsp_deferred_locals`), for this runqueue.
    pub(crate) deferred: VecDeque<TaskId>,
    /// Keeps higher classes from starving the scheduler's tasks.
    pub(crate) server: ClassServer,
    /// The part of `spent_ps` that is waiting for a lock rather than work, if CPUs take turns.
    pub(crate) waited_ps: u64,
    /// Its total idle time, and since when it has been idle.
    pub(crate) idle: IdleTime,
    /// The unfinished work of its last step, if CPUs take turns.
    pub(crate) pending: Pending,
    /// The last direct dispatch that was decided here: the task, and the caller that decided.
    pub(crate) direct_by: Option<(TaskId, Caller)>,
    /// The callbacks that it is nested in, outermost first.
    pub(crate) outer: Vec<Callback>,
    /// How many wakeups were left to this CPU and are still pending.
    pub(crate) ttwu_pending: u32,
    /// Timers that wait for its tick.
    pub(crate) deferrable: DeferrableTimers,
    /// This runqueue's local queue is to be reenqueued, with these `SCX_REENQ_*` (`deferred_reenq_locals`).
    pub(crate) reenqueue: Option<u64>,
    /// CPUs that it kicked and waits for after its next pick, with how often they had picked when it kicked them.
    pub(crate) to_sync: Vec<(CpuId, u64)>,
    /// Its real-time tasks.
    pub(crate) rt: RtQueue,
    /// Its fair tasks.
    pub(crate) fair: FairQueue,
    /// Keeps real-time tasks from starving fair ones.
    pub(crate) fair_server: ClassServer,
    /// Migration-disabled tasks that are here, asleep or not (`nr_pinned`).
    pub(crate) nr_pinned: u32,
    /// Distinguishes one stay with the BPF scheduler from the next (`ops_qseq`).
    pub(crate) qseq: u64,
    /// Its SMT siblings, without itself.
    pub(crate) siblings: Box<[CpuId]>,
    /// Work gets done at this many thousandths of nominal speed.
    pub(crate) speed_per_mille: u64,
    /// Its frequency.
    pub(crate) perf: Perf,
    /// When its next tick is due, or the last one before it became idle, without a delay.
    pub(crate) tick_due: Instant,
}

impl Cpu {
    pub(crate) fn new(siblings: &CpuSet, holder: Holder) -> Self {
        Self {
            holder,
            clock: Instant::ZERO,
            spent_ps: 0,
            waited_ps: 0,
            curr: TaskId::IDLE,
            need_resched: false,
            resched_at: Instant::NEVER,
            ticks: Ticks::NONE,
            idle: IdleTime::default(),
            work_done_at: Instant::NEVER,
            working_since: Instant::ZERO,
            in_user: true,
            pauses: Pauses::default(),
            errands: Errands::default(),
            pending: Pending::default(),
            stack: Stack::new(),
            callback: Callback::NONE,
            direct_by: None,
            outer: Vec::with_capacity(2),
            returned: 0,
            ttwu_pending: 0,
            deferrable: DeferrableTimers::default(),
            reenqueue: None,
            nr_immed: 0,
            next_class: SchedClass::Idle,
            bypassing: false,
            released: false,
            picks: 0,
            to_sync: Vec::new(),
            sync_pending: false,
            rt: RtQueue::default(),
            fair: FairQueue::default(),
            server: ClassServer::default(),
            fair_server: ClassServer::default(),
            dispatch: DispatchBuffer::default(),
            global: QueueId::default(),
            deferred: VecDeque::new(),
            lock: RqLock::default(),
            nr_running: 0,
            nr_pinned: 0,
            qseq: 0,
            in_balance: false,
            in_stopper: false,
            online: true,
            alive: true,
            shares_speed: !siblings.is_empty(),
            has_plain_speed: siblings.is_empty(),
            siblings: siblings.iter().collect(),
            speed_per_mille: 1000,
            perf: Perf::default(),
            tick_due: Instant::NEVER,
        }
    }

    /// Sets at what speed its tasks work from now on.
    pub(crate) fn set_speed(&mut self, per_mille: u64) {
        self.speed_per_mille = per_mille;
        self.has_plain_speed = per_mille == 1000 && !self.shares_speed;
    }

    /// Runnable tasks that may run: all but the throttled ones (`rq->nr_running`).
    #[inline]
    pub(crate) fn nr_ready(&self) -> u32 {
        self.nr_running - self.rt.nr_throttled() - self.fair.limbo()
    }

    /// The tasks that may run, and those that sleep on the runqueue.
    #[inline]
    pub(crate) fn nr_tasks(&self) -> u32 {
        self.nr_ready() + self.fair.queued() - self.fair.len()
    }

    /// Returns whether its idle task is on the CPU.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.curr.is_idle()
    }

    /// The moment that its current step has reached: its clock plus the costs so far.
    #[inline(always)]
    pub(crate) fn moment(&self) -> Instant {
        after_ps(self.clock, self.spent_ps)
    }

    /// Like `moment`. If this `is_last` in a step, the step's costs go on the clock: that would be next anyway.
    #[inline(always)]
    pub(crate) fn moment_at_end(&mut self, is_last: bool) -> Instant {
        if !is_last {
            return self.moment();
        }
        (self.clock, self.spent_ps) = self.settled();
        self.clock
    }

    /// What the clock shows with the costs of the last step, and what is left of these.
    #[inline(always)]
    pub(crate) fn settled(&self) -> (Instant, u64) {
        let ns = full_ns(self.spent_ps);
        (Instant::from_ns(self.clock.as_ns() + ns), self.spent_ps - ns * 1000)
    }

    /// Adds the costs of the last step to the clock.
    #[inline]
    pub(crate) fn settle_costs(&mut self) {
        if self.spent_ps >= 1000 {
            (self.clock, self.spent_ps) = self.settled();
        }
    }
}
