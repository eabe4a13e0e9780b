//! How a task came to the queue where it waits: the placement or balancing decision that is in force.
//!
//! A decision is in force from when it is made until the next one about the same task. So the one that ends a wait (an idle CPU
//! pulls the task, a scheduler dispatches it) is to blame for nothing that was before it. [`Origin`] keeps the one in force;
//! [`crate::place::Course`] keeps for how long each was.

use crate::place::{Here, Queue};
use crate::table::Tasks;
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::{Chooser, Why};

/// What kind of decision it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// It was woken.
    Woken,
    /// It was made.
    Forked,
    /// The CPU where it is now took it.
    Pulled,
    /// The CPU where it was gave it away.
    Pushed,
    /// A third CPU moved it.
    Moved,
    /// The scheduler dispatched it there.
    Dispatched,
    /// The scheduler took it into a queue of its own: after it had lost its CPU, or from another such queue.
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
    /// Where the task was or had run before; none where it had not.
    pub from: Option<CpuId>,
    /// Where it was put.
    pub to: CpuId,
    /// Who chose the CPU of a wakeup or fork, where the stream says.
    pub chooser: Option<Chooser>,
    /// Who woke or made it; [`TaskId::IDLE`] for an interrupt and in the other cases.
    pub waker: TaskId,
}

impl Decision {
    /// It was moved; the event's CPU shows which CPU moved it.
    pub(crate) fn migrated(task: TaskId, at: Instant, by: CpuId, from: CpuId, to: CpuId) -> Self {
        let act = match by {
            by if by == to => Act::Pulled,
            by if by == from => Act::Pushed,
            _ => Act::Moved,
        };
        Self { task, act, at, by, from: Some(from), to, chooser: None, waker: TaskId::IDLE }
    }

    /// As a clause about `it`: `pulled from CPU 3 by CPU 5 at 1.20 s`.
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

/// What a check keeps of a task to know at each moment where it waits, and by which decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    task: TaskId,
    /// Where it ran last.
    pub(crate) last_cpu: Option<CpuId>,
    /// Who chose the CPU of the wakeup that is to come, and where the task had been.
    chosen: Option<(Chooser, CpuId)>,
    /// Where it waits; while it runs or sleeps, only the decision counts.
    pub(crate) here: Here,
    /// The queue that a task entered which still runs: there it waits when it leaves its CPU.
    next: Option<Queue>,
    /// It has entered a queue since it woke.
    entered: bool,
    /// It was moved out of a queue of the scheduler's own, and into no other yet.
    taken: bool,
}

/// The origins of all tasks: a check's own, or those that another one keeps beside it.
pub(crate) trait Origins {
    /// Something happened to the task. Another check that keeps its origin gets the same event, right after.
    fn change(&mut self, task: TaskId, how: impl FnOnce(&mut Origin));

    /// How it came where it is, until the event at hand.
    fn of(&mut self, task: TaskId) -> Option<&Origin>;

    /// The task is gone.
    fn end(&mut self, task: TaskId);
}

impl Origins for Tasks<Origin> {
    fn change(&mut self, task: TaskId, how: impl FnOnce(&mut Origin)) {
        if let Some(origin) = self.get(task) {
            how(origin);
        }
    }

    fn of(&mut self, task: TaskId) -> Option<&Origin> {
        self.get(task).map(|origin| &*origin)
    }

    fn end(&mut self, task: TaskId) {
        Tasks::end(self, task);
    }
}

impl From<TaskId> for Origin {
    fn from(task: TaskId) -> Self {
        Self::new(task)
    }
}

impl Origin {
    pub(crate) fn new(task: TaskId) -> Self {
        Self {
            task,
            last_cpu: None,
            chosen: None,
            here: Here::UNKNOWN,
            next: None,
            entered: false,
            taken: false,
        }
    }

    /// The decision in force.
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.here.decision
    }

    /// A CPU is chosen for a task that sleeps.
    pub(crate) fn chosen(&mut self, chooser: Chooser, prev: CpuId) {
        self.chosen = Some((chooser, prev));
    }

    /// A task that slept is woken or made. One that is said to have made itself was there when the stream began, and how it had
    /// come there is not known.
    pub(crate) fn wakes(&mut self, act: Act, at: Instant, by: CpuId, to: CpuId, waker: TaskId) {
        let (task, chosen) = (self.task, self.chosen.take());
        let from = self.last_cpu.or(chosen.filter(|_| act == Act::Woken).map(|(_, prev)| prev));
        let chooser = chosen.map(|(chooser, _)| chooser);
        let decision = Decision { task, act, at, by, from, to, chooser, waker };
        let decision = Some(decision).filter(|_| waker != task);
        self.here = Here { queue: Queue::Cpu(to), left: None, decision };
        (self.next, self.entered, self.taken) = (None, false, false);
    }

    /// It comes to run. Where it did not go by the last decision, the stream does not say how it came.
    pub(crate) fn runs(&mut self, cpu: CpuId) {
        self.last_cpu = Some(cpu);
        self.here.decision = self.here.decision.filter(|decision| decision.to == cpu);
        (self.next, self.taken) = (None, false);
    }

    /// It loses or gives up `cpu`, and waits.
    pub(crate) fn leaves(&mut self, at: Instant, cpu: CpuId, why: Why) {
        let queue = self.next.take().unwrap_or(Queue::Cpu(cpu));
        (self.here.queue, self.here.left, self.entered) = (Queue::Cpu(cpu), Some(why), true);
        if queue != Queue::Cpu(cpu) {
            self.enters(at, cpu, cpu, queue);
        }
    }

    /// It is moved from one runqueue to another.
    pub(crate) fn migrates(&mut self, at: Instant, by: CpuId, from: CpuId, to: CpuId) {
        let carried_out = |last: Decision| last.act == Act::Dispatched && last.to == to;
        if self.here.queue == Queue::Cpu(to) && self.decision().is_some_and(carried_out) {
            return;
        }
        self.taken = !matches!(self.here.queue, Queue::Cpu(_));
        let decision = Some(Decision::migrated(self.task, at, by, from, to));
        self.here = Here { queue: Queue::Cpu(to), left: None, decision };
        self.entered = true;
    }

    /// The scheduler dispatches it to a CPU; it was on the runqueue of `rq`.
    pub(crate) fn dispatched(&mut self, at: Instant, by: CpuId, rq: CpuId, to: CpuId) {
        let decision = Some(self.decides(Act::Dispatched, at, by, rq, to));
        self.here = Here { queue: Queue::Cpu(to), left: None, decision };
        self.entered = true;
    }

    /// It enters a queue while it waits; it is on the runqueue of `rq`. The first queue after a wakeup is the wakeup's.
    pub(crate) fn enters(&mut self, at: Instant, by: CpuId, rq: CpuId, queue: Queue) {
        let first = !std::mem::replace(&mut self.entered, true);
        let taken = std::mem::take(&mut self.taken);
        match queue {
            // The scheduler had it, and it was moved for this queue.
            Queue::Cpu(to) if taken && queue == self.here.queue => {
                let from = self.decision().and_then(|decision| decision.from);
                self.dispatched(at, by, from.unwrap_or(rq), to);
            }
            queue if queue == self.here.queue => {}
            Queue::Cpu(to) => self.dispatched(at, by, rq, to),
            queue => {
                self.here.queue = queue;
                if !first {
                    self.here.decision = Some(self.decides(Act::Queued, at, by, rq, rq));
                }
            }
        }
    }

    /// It enters a queue while it runs, and leaves its CPU just then; or it has left that queue again.
    pub(crate) fn will_be_in(&mut self, queue: Option<Queue>) {
        self.next = queue;
    }

    fn decides(&self, act: Act, at: Instant, by: CpuId, from: CpuId, to: CpuId) -> Decision {
        Decision { task: self.task, act, at, by, from: Some(from), to, chooser: None, waker: TaskId::IDLE }
    }
}
