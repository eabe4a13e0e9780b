//! The state of a task in the simulated kernel.
//!
//! The fields that BPF may write (slice and vtime) exist only in the world's `task_struct`; everything else is here and
//! is mirrored there ([`crate::state::mirror`]).

use crate::state::class::SchedClass;
use crate::state::rng::Rng;
use crate::state::scx::queues::QueueId;
use keel_abi::bpf::Ea;
use keel_abi::task::{ObjectId, Policy};
use keel_abi::{CpuId, CpuSet, DsqId, Instant, Pid, Span, TaskId};
use keel_trace::{Chooser, Timer};
use std::mem::offset_of;

/// A task's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Created, but not yet on a runqueue.
    New,
    /// On a runqueue: running or waiting for a CPU.
    Runnable,
    /// Still on the CPU, but about to block.
    Blocking,
    /// Off the runqueue, or just leaving it, until something wakes it.
    Blocked,
    /// Still on the CPU, but about to exit.
    Exiting,
    /// Dead.
    Dead,
}

/// The owner of a task (`p->scx.ops_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpsState {
    /// Nobody: it runs, sleeps or is in a queue.
    None,
    /// `ops.enqueue` is being called for it, at the beginning of this stay.
    Queueing(u64),
    /// The BPF scheduler has it; the number distinguishes stays.
    Queued(u64),
}

/// How far the task has been initialized for the scheduler (`SCX_TASK_STATE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// Not yet, or no longer.
    No,
    /// `ops.init_task` has run.
    Ready,
    /// `ops.enable` has been called.
    Enabled,
}

/// What the task is doing when it next gets a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Between steps of its program.
    Steps,
    /// This much work is left.
    Work(Span),
    /// Busy until this moment.
    Until(Instant),
    /// Woken inside a condition wait: takes the mutex again first.
    Relock(ObjectId),
    /// Waits for this mutex without giving up its CPU.
    Spin(ObjectId),
}

impl Doing {
    /// Returns whether it is the task's own work.
    pub(crate) const fn is_work(self) -> bool {
        matches!(self, Self::Work(_) | Self::Until(_))
    }
}

/// Decides a task's class and its place there: its own policy, and the priority that it has inherited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Urgency {
    pub(crate) policy: Policy,
    pub(crate) boost: u8,
}

impl Urgency {
    /// The kernel's priority: lower is more urgent (`p->prio`).
    pub(crate) fn prio(self, nice: i8) -> i32 {
        let own = self.policy.priority(nice);
        if self.boost > 0 { own.min(99 - i32::from(self.boost)) } else { own }
    }

    fn priority(self) -> u8 {
        self.policy.rt_priority().max(self.boost)
    }

    /// Returns whether it is less urgent than a real-time task of this priority.
    pub(crate) fn is_below(self, priority: u8) -> bool {
        self.priority() < priority
    }
}

/// A direct dispatch that `ops.select_cpu` or `ops.enqueue` decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direct {
    pub(crate) dsq: DsqId,
    pub(crate) enq_flags: u64,
}

/// A task. The fields are in their order in memory: with thousands of tasks nearly every access to one is a cache miss,
/// so the fields that each wakeup, switch and step touches fill the first three lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Task {
    /// Its `task_struct` in the world.
    pub(crate) ea: Ea,
    /// The CPU whose runqueue it is on, or was last on.
    pub(crate) cpu: CpuId,
    /// Who has placed it for its coming wakeup, and where it was before, if that is yet to be emitted.
    pub(crate) placed: Option<(Chooser, CpuId)>,
    /// The CPU on which it was last placed (`p->wake_cpu`).
    pub(crate) wake_cpu: CpuId,
    pub(crate) state: State,
    /// `SCX_TASK_QUEUED`: on an ext runqueue.
    pub(crate) queued: bool,
    /// It runs on its CPU right now.
    pub(crate) on_cpu: bool,
    /// The scheduler must be notified when it leaves (`ops.dequeue`).
    pub(crate) in_custody: bool,
    /// It waits on its runqueue's list of deferred moves to other CPUs' local queues.
    pub(crate) deferred: bool,
    /// `SCX_TASK_RESET_RUNNABLE_AT`.
    pub(crate) reset_runnable_at: bool,
    /// On its runqueue's list of runnable tasks, for the watchdog.
    pub(crate) watched: bool,
    /// It called `sched_yield()` and has not been switched out since.
    pub(crate) yielded: bool,
    pub(crate) ops_state: OpsState,
    pub(crate) runnable_at: Instant,
    /// Since when its runtime has not been charged.
    pub(crate) exec_start: Instant,
    pub(crate) cpu_time: Span,

    pub(crate) doing: Doing,
    /// When it took its first step; [`Instant::NEVER`] until then.
    pub(crate) began: Instant,
    pub(crate) rng: Rng,
    /// The queue it is in.
    pub(crate) queue: Option<QueueId>,
    /// The number of CPUs that it may use.
    pub(crate) nr_allowed: u32,
    /// The place of the next step of its program in [`Steps`](crate::state::steps::Steps).
    pub(crate) next_step: u32,
    /// Distinguishes a sleep's timer from an earlier one.
    pub(crate) sleeps: u32,
    /// Units of throughput done since last reported.
    pub(crate) counted: u32,

    /// It may use every CPU: these are all.
    pub(crate) goes_anywhere: bool,
    pub(crate) class: SchedClass,
    /// `SCX_TASK_IMMED`: it is in a local queue as an immediate task, which runs at once or is reenqueued.
    pub(crate) immed: bool,
    /// It was switched out, or is about to be, in such a section: BPF sees its one CPU as its mask.
    pub(crate) is_pinned: bool,
    /// Open `migrate_disable()` spells.
    pub(crate) migration_disabled: u16,
    pub(crate) policy: Policy,
    /// The real-time priority of the most urgent waiter of the task's mutexes with priority inheritance; else 0.
    pub(crate) boost: u8,
    /// It is in the middle of a wakeup, a move or a change from outside: others wait (`p->pi_lock`).
    pub(crate) busy: bool,
    /// Its wakeup is left to a CPU that has yet to do it (`TASK_WAKING`).
    pub(crate) waking: bool,
    pub(crate) nice: i8,
    /// Ticks that are left of its time slice under SCHED_RR.
    pub(crate) turn_ticks: u32,
    pub(crate) direct: Option<Direct>,
    /// When the timer of the sleep that it is about to begin fires.
    pub(crate) sleeps_until: Option<(Instant, Timer)>,
    /// Its own CPU time since that was last reported.
    pub(crate) own: Own,

    pub(crate) cpus: CpuSet,
    pub(crate) member: Member,
    pub(crate) weight: u32,
    pub(crate) pid: Pid,
    /// The workload's task that it is an instance of; `None` for the kernel's first task.
    pub(crate) spec: Option<u32>,
    /// Where its program begins in [`Steps`](crate::state::steps::Steps).
    pub(crate) program: u32,
    /// Pages that the current step has written.
    pub(crate) written: u32,
    /// Passes so far, by loop slot.
    pub(crate) loops: Vec<u32>,
    /// Last expiry of each timer; grown on use.
    pub(crate) timers: Vec<(ObjectId, Instant)>,
    /// Its position on its tape, in bytes.
    pub(crate) tape_at: usize,
}

/// What each step touches of a task's own time is its work.
const _: () =
    assert!(offset_of!(Task, own.user) + size_of::<Span>() == 3 * 64, "the first three lines end there");

/// A task's own CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Own {
    /// Work, at nominal speed.
    pub(crate) user: Span,
    /// Time in the kernel on its own behalf.
    pub(crate) kernel_ps: u64,
    /// A step of its program has begun since.
    pub(crate) has_stepped: bool,
    /// It is busy for a given time ([`keel_abi::task::Step::RunFor`]): how much it works follows from when it gets a CPU.
    pub(crate) runs_for: bool,
}

impl Task {
    /// Its urgency, which decides its class.
    pub(crate) fn urgency(&self) -> Urgency {
        Urgency { policy: self.policy, boost: self.boost }
    }

    /// Its real-time priority, or 0.
    #[inline]
    pub(crate) fn rt_priority(&self) -> u8 {
        self.policy.rt_priority().max(self.boost)
    }

    /// Returns whether it is on its runqueue. The caller holds that runqueue's lock.
    pub(crate) fn is_on_rq(&self) -> bool {
        matches!(self.state, State::Runnable | State::Blocking | State::Exiting)
    }

    /// Returns whether it may run on `cpu`.
    #[inline]
    pub(crate) fn allows(&self, cpu: CpuId) -> bool {
        self.goes_anywhere || self.cpus.contains(cpu)
    }

    /// Returns whether it may run on several CPUs: a class chooses one only then.
    #[inline(always)]
    pub(crate) fn has_choice(&self) -> bool {
        self.nr_allowed > 1 && self.migration_disabled == 0
    }

    /// From `now` on, it is between steps of its program.
    #[inline(always)]
    pub(crate) fn begins_steps(&mut self, now: Instant) {
        self.doing = Doing::Steps;
        self.began = self.began.min(now);
    }

    /// It begins to wait for a CPU at `now`. Returns whether it was not waiting already, so that it waits since then.
    #[inline(always)]
    pub(crate) fn begins_to_wait(&mut self, now: Instant) -> bool {
        self.watched = true;
        let resets = std::mem::take(&mut self.reset_runnable_at);
        if resets {
            self.runnable_at = now;
        }
        resets
    }
}

/// All tasks, by [`TaskId`].
#[derive(Debug, Default)]
pub(crate) struct Tasks(Vec<Task>);

impl Tasks {
    pub(crate) fn push(&mut self, task: Task) -> TaskId {
        self.0.push(task);
        TaskId(self.0.len() as u32 - 1)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> Option<&Task> {
        self.0.get(task.index())
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, task: TaskId) -> Option<&mut Task> {
        self.0.get_mut(task.index())
    }

    /// The task with this number, if there is one.
    #[inline]
    pub(crate) fn numbered(&self, number: u64) -> Option<&Task> {
        self.0.get(number as usize)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..self.0.len() as u32).map(TaskId)
    }
}

impl std::ops::Index<TaskId> for Tasks {
    type Output = Task;
    #[inline]
    fn index(&self, task: TaskId) -> &Task {
        &self.0[task.index()]
    }
}

impl std::ops::IndexMut<TaskId> for Tasks {
    #[inline]
    fn index_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.0[task.index()]
    }
}
