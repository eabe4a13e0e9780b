//! The state of a CPU in the simulated kernel.
//!
//! A CPU is in user mode (or idle) while its frame stack is empty, and otherwise in the kernel. In the kernel its own
//! clock runs ahead by the cost of its steps; it takes a step only when no other CPU has something earlier to do
//! ([`crate::run::main_loop`]).

use crate::state::class::SchedClass;
use crate::state::cost::lock::LockUse;
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
use keel_abi::bpf::{Ea, Origin, Usage};
use keel_abi::lines::Holder;
use keel_abi::scx::Op;
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

/// A callback in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callback {
    /// If false, there is none, and what a callback rarely has is as in [`Callback::NONE`].
    pub(crate) in_progress: bool,
    pub(crate) op: Op,
    /// The task that it is called for, or [`TaskId::IDLE`].
    pub(crate) subject: TaskId,
    /// When it began.
    pub(crate) began: Instant,
    /// The cost of its calls beyond the instructions, in picoseconds.
    pub(crate) charged_ps: u64,
    /// It has dispatched a task directly, or tried to.
    pub(crate) has_dispatched: bool,
    /// The reply to give when a suspended call is made again.
    pub(crate) reply: Option<u64>,
    /// The `bpf_spin_lock` it holds.
    pub(crate) spin: Option<Ea>,
    /// How many `bpf_res_spin_lock` it holds.
    pub(crate) res_spins: u32,
    /// What called the program.
    pub(crate) place: Place,
    /// The kernel called it, and nobody watches its CPU ([`Cpu::is_watched`]). Kept up even while there is none.
    pub(crate) is_usual: bool,
    /// It is usual, holds no BPF lock, and is nested in no other callback.
    pub(crate) is_plain: bool,
    /// The number of its current or last call.
    pub(crate) call: u32,
}

/// Who called the kernel: a callback, and where in the object's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) op: Op,
    pub(crate) place: Place,
    pub(crate) call: u32,
}

/// What calls a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The kernel, for a callback of the scheduler.
    Op,
    /// BPF's own timer.
    Timer,
    /// The scheduler's user-space half, for a `SEC("syscall")` program.
    Syscall,
    /// The kernel, for a tracing program.
    Trace,
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
    /// Returns whether the CPU waits for this work at `at`. Its clock may have been set by something else since, such as
    /// a lock.
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

impl Caller {
    /// What called the program.
    pub(crate) fn origin(self) -> Origin {
        match self.place {
            Place::Op => Origin::Op(self.op),
            Place::Timer => Origin::Timer,
            Place::Syscall => Origin::Program,
            Place::Trace => Origin::Trace,
        }
    }

    /// The callback's name in messages: `ops.enqueue()`.
    pub(crate) fn words(self) -> String {
        match self.place {
            Place::Op => format!("ops.{}()", self.op.name()),
            Place::Timer => "a timer".to_owned(),
            Place::Syscall => "a syscall program".to_owned(),
            Place::Trace => "a tracing program".to_owned(),
        }
    }
}

/// When a clock that shows `at` has moved on by this much, in whole nanoseconds. Unlike an addition of a span it need not
/// look for an overflow: the most picoseconds are 213 days.
#[inline(always)]
pub(crate) fn after_ps(at: Instant, ps: u64) -> Instant {
    Instant::from_ns(at.as_ns() + ps / 1000)
}

impl Callback {
    /// No callback.
    pub(crate) const NONE: Self = Self {
        in_progress: false,
        op: Op::Exit,
        subject: TaskId::IDLE,
        began: Instant::ZERO,
        charged_ps: 0,
        has_dispatched: false,
        reply: None,
        spin: None,
        res_spins: 0,
        place: Place::Op,
        is_usual: true,
        is_plain: true,
        call: 0,
    };

    /// Returns whether there is none, and none has left anything.
    fn is_at_rest(&self) -> bool {
        let Self { in_progress, reply, spin, res_spins, place, .. } = *self;
        !in_progress && reply.is_none() && spin.is_none() && res_spins == 0 && place == Place::Op
    }

    /// Under a BPF lock no other CPU runs first.
    #[inline]
    pub(crate) fn lets_others_past(&self) -> bool {
        self.spin.is_none() && self.res_spins == 0
    }

    /// The task that it may dispatch directly. The first insert takes it.
    #[inline]
    pub(crate) fn take_direct_subject(&mut self) -> DirectSubject {
        let is_spent = std::mem::replace(&mut self.has_dispatched, true);
        match self.op {
            _ if is_spent => DirectSubject::Spent,
            Op::SelectCpu | Op::Enqueue => DirectSubject::Task(self.subject),
            _ => DirectSubject::None,
        }
    }

    /// Who makes the current call.
    #[inline]
    pub(crate) fn caller(&self) -> Caller {
        Caller { op: self.op, place: self.place, call: self.call }
    }
}

/// The task that may be dispatched directly from this callback (`direct_dispatch_task`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectSubject {
    /// None: the callback can't dispatch directly.
    None,
    /// This task.
    Task(TaskId),
    /// None any more: it has been dispatched already.
    Spent,
}

/// An insert that `ops.dispatch` has buffered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffered {
    pub(crate) task: TaskId,
    /// Identifies the task's stay with the scheduler; `None` if the scheduler didn't have the task.
    pub(crate) qseq: Option<u64>,
    pub(crate) dsq: DsqId,
    pub(crate) enq_flags: u64,
    /// The caller that asked for it.
    pub(crate) by: Caller,
}

/// The state of one `ops.dispatch` call (`struct scx_dsp_ctx`).
#[derive(Debug, Default)]
pub(crate) struct DispatchBuffer {
    pub(crate) inserts: Vec<Buffered>,
    /// Tasks dispatched by this call.
    pub(crate) dispatched: u32,
}

/// A runqueue's lock in virtual time. If its holder is suspended, others queue for it; otherwise only the time until
/// which it was held matters.
#[derive(Debug)]
pub(crate) struct RqLock {
    pub(crate) holder: Option<CpuId>,
    /// Its holder will do deferred work before releasing it (`SCX_RQ_IN_WAKEUP`, `SCX_RQ_IN_BALANCE`).
    pub(crate) defers: bool,
    pub(crate) free_at: Instant,
    pub(crate) waiters: VecDeque<CpuId>,
    /// When its holder got it.
    pub(crate) since: Instant,
    pub(crate) uses: LockUse,
}

impl RqLock {
    /// Returns whether a CPU can have it at once at `at`.
    #[inline(always)]
    pub(crate) fn is_free(&self, at: Instant) -> bool {
        self.holder.is_none() && self.free_at <= at
    }

    /// `c` takes the free lock, and has it from `since` on.
    #[inline(always)]
    pub(crate) fn take(&mut self, c: CpuId, since: Instant) {
        self.holder = Some(c);
        self.since = since;
        self.uses.taken += 1;
    }

    /// Its holder releases it at `at`. Returns when it is free if others wait for that.
    #[inline(always)]
    pub(crate) fn give_back(&mut self, at: Instant) -> Option<Instant> {
        self.free_at = self.free_at.max(at);
        self.defers = false;
        self.holder = None;
        self.uses.held.accumulate(at.since(self.since));
        (!self.waiters.is_empty()).then_some(self.free_at)
    }
}

impl Default for RqLock {
    fn default() -> Self {
        Self {
            holder: None,
            defers: false,
            free_at: Instant::ZERO,
            waiters: VecDeque::new(),
            since: Instant::ZERO,
            uses: LockUse::default(),
        }
    }
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
    /// Its next tick; [`Instant::NEVER`] while idle.
    pub(crate) tick_at: Instant,
    /// When the slice of the running fair task ends, if others wait; else [`Instant::NEVER`].
    pub(crate) hrtick_at: Instant,
    /// When the current task's work is done at the current speed.
    pub(crate) work_done_at: Instant,
    /// Since when the current task has been working undisturbed.
    pub(crate) working_since: Instant,
    /// Why it may not simply take its next step.
    pub(crate) pauses: Pauses,
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
    pub(crate) has_siblings: bool,
    pub(crate) dispatch: DispatchBuffer,
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
    /// Each call of its callbacks is looked at: the run has an order or looks for races, or the scheduler has ended.
    pub(crate) is_watched: bool,
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
            tick_at: Instant::NEVER,
            idle: IdleTime::default(),
            hrtick_at: Instant::NEVER,
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
            is_watched: false,
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
            deferred: VecDeque::new(),
            lock: RqLock::default(),
            nr_running: 0,
            nr_pinned: 0,
            qseq: 0,
            in_balance: false,
            in_stopper: false,
            online: true,
            alive: true,
            has_siblings: !siblings.is_empty(),
            siblings: siblings.iter().collect(),
            speed_per_mille: 1000,
            perf: Perf::default(),
        }
    }

    /// Runnable tasks that may run: all but the throttled ones (`rq->nr_running`).
    #[inline]
    pub(crate) fn nr_ready(&self) -> u32 {
        self.nr_running - self.rt.nr_throttled() - self.fair.limbo()
    }

    /// A callback begins, which is charged this much for its entry. What is not set here is as in [`Callback::NONE`].
    #[inline(always)]
    pub(crate) fn begin_callback(&mut self, op: Op, subject: TaskId, entry_ps: u64) {
        debug_assert_eq!(self.callback.is_plain, self.is_plain());
        let began = self.clock;
        let callback = &mut self.callback;
        debug_assert!(callback.is_at_rest(), "a callback leaves nothing behind");
        callback.in_progress = true;
        callback.op = op;
        callback.subject = subject;
        callback.began = began;
        callback.charged_ps = entry_ps;
        callback.has_dispatched = false;
        callback.call = 0;
    }

    /// Like `begin_callback` within the one in progress.
    #[cold]
    #[inline(never)]
    pub(crate) fn nest_callback(&mut self, op: Op, subject: TaskId, entry_ps: u64) {
        self.outer.push(std::mem::replace(&mut self.callback, Callback::NONE));
        self.note_plain();
        self.begin_callback(op, subject, entry_ps);
    }

    /// The callback that has just begun was not called by the kernel as one of the scheduler's.
    #[inline]
    pub(crate) fn begins_from(&mut self, place: Place) {
        self.callback.place = place;
        self.note_plain();
    }

    /// The callback takes a `bpf_spin_lock`.
    #[inline]
    pub(crate) fn takes_spin(&mut self, lock: Ea) {
        self.callback.spin = Some(lock);
        self.callback.is_plain = false;
    }

    /// The callback releases its `bpf_spin_lock`.
    #[inline]
    pub(crate) fn releases_spin(&mut self) {
        self.callback.spin = None;
        self.note_plain();
    }

    /// The callback holds this many `bpf_res_spin_lock`s now.
    pub(crate) fn set_res_spins(&mut self, count: u32) {
        self.callback.res_spins = count;
        self.note_plain();
    }

    /// From now on each call of its callbacks is looked at, or no longer.
    pub(crate) fn watch(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
        self.note_plain();
    }

    /// The innermost callback is over.
    #[inline]
    pub(crate) fn leave_callback(&mut self) {
        self.callback = self.outer.pop().unwrap_or(Callback::NONE);
        self.note_plain();
    }

    #[inline]
    fn note_plain(&mut self) {
        self.callback.is_usual = self.is_usual();
        self.callback.is_plain = self.is_plain();
    }

    /// What [`Callback::is_usual`] should be.
    #[inline]
    fn is_usual(&self) -> bool {
        self.callback.place == Place::Op && !self.is_watched
    }

    /// What [`Callback::is_plain`] should be.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.is_usual() && self.callback.lets_others_past() && self.outer.is_empty()
    }

    /// The current callback ends with this usage; returns how long it took.
    #[inline(always)]
    pub(crate) fn end_callback(&mut self, usage: Usage, insn_ps: u64) -> Span {
        let Callback { began, charged_ps, .. } = self.callback;
        let total_ps =
            usage.insns * insn_ps + usage.stall_ps + charged_ps + std::mem::take(&mut self.spent_ps);
        self.clock = self.clock.max(after_ps(began, total_ps));
        // A callback can't end before it began.
        Span::from_ns(self.clock.as_ns() - began.as_ns())
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

    /// Adds the costs of the last step to the clock.
    #[inline]
    pub(crate) fn settle_costs(&mut self) {
        if self.spent_ps >= 1000 {
            self.clock = after_ps(self.clock, self.spent_ps);
            self.spent_ps %= 1000;
        }
    }
}
