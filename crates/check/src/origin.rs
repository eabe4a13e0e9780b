//! How a task came to the queue in which it waits: the placement or balancing decision in force.
//!
//! A decision is in force until the next one about the same task. So a decision that ends a wait (an idle CPU pulls the
//! task, a scheduler dispatches it) is not to blame for anything before it. [`Origin`] keeps the decision in force;
//! [`crate::place::Course`] keeps how long each was in force.

use crate::place::{Here, NOWHERE, Queue};
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::{Chooser, Why};

/// The kind of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// It was woken.
    Woken,
    /// It was created.
    Forked,
    /// The CPU where it is now pulled it.
    Pulled,
    /// The CPU where it was pushed it away.
    Pushed,
    /// A third CPU moved it.
    Moved,
    /// The scheduler dispatched it there.
    Dispatched,
    /// The scheduler put it into one of its own queues: after it had lost its CPU, or from another of its queues.
    Queued,
}

impl Act {
    /// Its stable name, as in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Woken => "woken",
            Self::Forked => "forked",
            Self::Pulled => "pulled",
            Self::Pushed => "pushed",
            Self::Moved => "moved",
            Self::Dispatched => "dispatched",
            Self::Queued => "queued",
        }
    }
}

/// A placement or balancing decision about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The task it is about.
    pub task: TaskId,
    /// What was decided.
    pub act: Act,
    /// When.
    pub at: Instant,
    /// The CPU that decided: the waker's, the parent's, the balancer's.
    pub by: CpuId,
    /// Where the task was or had last run; `None` if it had not run.
    pub from: Option<CpuId>,
    /// Where it was put.
    pub to: CpuId,
    /// Who chose the CPU of a wakeup or fork, if the stream records it.
    pub chooser: Option<Chooser>,
    /// The task that woke or created it; [`TaskId::IDLE`] for an interrupt and for other decisions.
    pub waker: TaskId,
}

impl Decision {
    /// A migration; the event's CPU is the CPU that moved the task.
    #[inline]
    pub(crate) fn migrated(task: TaskId, at: Instant, by: CpuId, from: CpuId, to: CpuId) -> Self {
        let act = match by {
            by if by == to => Act::Pulled,
            by if by == from => Act::Pushed,
            _ => Act::Moved,
        };
        Self { task, act, at, by, from: Some(from), to, chooser: None, waker: TaskId::IDLE }
    }

    /// The decision as a clause about the task: `pulled from CPU 3 by CPU 5 at 1.20 s`.
    pub fn words(&self) -> String {
        let Self { at, by, to, .. } = self;
        let since = at.since(Instant::ZERO);
        let from = self.from.map_or(String::new(), |from| format!(" from CPU {from}"));
        match self.act {
            Act::Woken | Act::Forked => {
                let act = if self.act == Act::Woken { "woken" } else { "forked" };
                let last = match (self.act, self.from) {
                    (Act::Woken, Some(last)) if last == *to => ", where it last ran".to_owned(),
                    (Act::Woken, Some(last)) => format!("; it last ran on CPU {last}"),
                    _ => String::new(),
                };
                format!("{act} by CPU {by} and put on CPU {to}{} at {since}{last}", self.chooser_words())
            }
            Act::Pulled => format!("pulled{from} by CPU {to} at {since}"),
            Act::Pushed => format!("pushed{from} to CPU {to} at {since}"),
            Act::Moved => format!("moved{from} to CPU {to} by CPU {by} at {since}"),
            Act::Dispatched => format!("dispatched to CPU {to} by CPU {by} at {since}"),
            Act::Queued => format!("queued by the scheduler on CPU {by} at {since}"),
        }
    }

    fn chooser_words(&self) -> &'static str {
        match self.chooser {
            Some(Chooser::SelectCpu) => " by select_cpu",
            Some(Chooser::Default) => " by the kernel's default choice",
            Some(Chooser::Fallback) => " because the chosen CPU was not allowed",
            Some(Chooser::OnlyOne) => ", the only one allowed,",
            Some(Chooser::Dispatch) | None => "",
        }
    }
}

/// The state from which a check knows at each moment where a task waits, and by which decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    task: TaskId,
    /// Where it ran last, or [`NOWHERE`].
    last_cpu: CpuId,
    /// Who chose the CPU of the coming wakeup.
    chooser: Option<Chooser>,
    /// Where the task had been, according to that.
    prev: CpuId,
    /// Where it waits; while it runs or sleeps, only the decision counts.
    pub(crate) here: Here,
    /// The queue that a running task has entered: it waits there when it leaves its CPU.
    next: Option<Queue>,
    /// It has entered a queue since it woke.
    entered: bool,
    /// It was taken from one of the scheduler's own queues, and has not entered another yet.
    taken: bool,
}

impl Origin {
    pub(crate) fn new(task: TaskId) -> Self {
        Self {
            task,
            last_cpu: NOWHERE,
            chooser: None,
            prev: NOWHERE,
            here: Here::UNKNOWN,
            next: None,
            entered: false,
            taken: false,
        }
    }

    /// Where it ran last.
    #[inline]
    pub(crate) fn last_cpu(&self) -> Option<CpuId> {
        (self.last_cpu != NOWHERE).then_some(self.last_cpu)
    }

    /// The decision in force.
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.here.decision(self.task)
    }

    /// A CPU is chosen for a sleeping task.
    pub(crate) fn chosen(&mut self, chooser: Chooser, prev: CpuId) {
        (self.chooser, self.prev) = (Some(chooser), prev);
    }

    /// A sleeping task is woken, or a task is created. A task that seems to have created itself existed when the stream
    /// began; how it came to its place is unknown.
    #[inline(always)]
    pub(crate) fn wakes(&mut self, act: Act, at: Instant, by: CpuId, to: CpuId, waker: TaskId) {
        let (task, chooser) = (self.task, self.chooser.take());
        let from = self.last_cpu().or_else(|| (act == Act::Woken && chooser.is_some()).then_some(self.prev));
        self.here = Here::by(Queue::of(to), Decision { task, act, at, by, from, to, chooser, waker });
        if waker == task {
            self.here.forget();
        }
        (self.next, self.entered, self.taken) = (None, false, false);
    }

    /// It has entered a queue since it woke, or has not.
    #[inline(always)]
    pub(crate) fn has_entered(&mut self, entered: bool) {
        self.entered = entered;
    }

    /// It starts running. If that is not where the last decision put it, the stream does not show how it came there.
    #[inline(always)]
    pub(crate) fn runs(&mut self, cpu: CpuId) {
        self.last_cpu = cpu;
        if self.here.to() != Some(cpu) {
            self.here.forget();
        }
        (self.next, self.taken) = (None, false);
    }

    /// It loses or gives up `cpu`, and waits.
    pub(crate) fn leaves(&mut self, at: Instant, cpu: CpuId, why: Why) {
        let queue = self.next.take().unwrap_or(Queue::of(cpu));
        (self.here.queue, self.here.left, self.entered) = (Queue::of(cpu), Some(why), true);
        if queue != Queue::of(cpu) {
            self.enters(at, cpu, cpu, queue);
        }
    }

    /// It is moved from one runqueue to another.
    #[inline(always)]
    pub(crate) fn migrates(&mut self, at: Instant, by: CpuId, from: CpuId, to: CpuId) {
        let queue = Queue::of(to);
        if self.here.queue == queue && self.here.act() == Some(Act::Dispatched) && self.here.to() == Some(to)
        {
            return;
        }
        self.taken = self.here.queue.cpu().is_none();
        self.here = Here::by(queue, Decision::migrated(self.task, at, by, from, to));
        self.entered = true;
    }

    /// It is moved from one runqueue to another and enters that CPU's queue: [`Origin::migrates`] and
    /// [`Origin::enters`].
    #[inline(always)]
    pub(crate) fn pulled(&mut self, at: Instant, by: CpuId, from: CpuId, to: CpuId) {
        if self.here.queue.cpu().is_some() {
            self.migrates(at, by, from, to);
            return self.enters(at, by, to, Queue::of(to));
        }
        // The scheduler had it: that it comes into the queue counts, not that it moves.
        self.dispatched(at, by, from, to);
        self.taken = false;
    }

    /// The scheduler dispatches it to a CPU; it was on the runqueue of `rq`.
    #[inline(always)]
    pub(crate) fn dispatched(&mut self, at: Instant, by: CpuId, rq: CpuId, to: CpuId) {
        self.here = Here::by(Queue::of(to), self.decides(Act::Dispatched, at, by, rq, to));
        self.entered = true;
    }

    /// It enters a queue while it waits; it is on the runqueue of `rq`. The first queue after a wakeup belongs to the
    /// wakeup.
    #[inline(always)]
    pub(crate) fn enters(&mut self, at: Instant, by: CpuId, rq: CpuId, queue: Queue) {
        let first = !std::mem::replace(&mut self.entered, true);
        let taken = std::mem::take(&mut self.taken);
        match queue.cpu() {
            // The scheduler had it, and moved it to this queue.
            Some(to) if taken && queue == self.here.queue => {
                let from = self.here.from();
                self.dispatched(at, by, from.unwrap_or(rq), to);
            }
            _ if queue == self.here.queue => {}
            Some(to) => self.dispatched(at, by, rq, to),
            None if first => self.here.queue = queue,
            None => {
                let left = self.here.left;
                self.here = Here::by(queue, self.decides(Act::Queued, at, by, rq, rq));
                self.here.left = left;
            }
        }
    }

    /// It enters a queue while it runs and is about to leave its CPU, or it leaves that queue again (`None`).
    #[inline]
    pub(crate) fn will_be_in(&mut self, queue: Option<Queue>) {
        self.next = queue;
    }

    #[inline]
    fn decides(&self, act: Act, at: Instant, by: CpuId, from: CpuId, to: CpuId) -> Decision {
        Decision { task: self.task, act, at, by, from: Some(from), to, chooser: None, waker: TaskId::IDLE }
    }
}
