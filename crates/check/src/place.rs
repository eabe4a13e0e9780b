//! Where a task waits and who put it there, kept as data and put into words only on request.

use crate::origin::{Act, Decision};
use keel_abi::scx::dsq;
use keel_abi::{CpuId, DsqId, Instant, Span, TaskId};
use keel_trace::{Chooser, Why};

/// Where a task waits, as the id of a queue, so that it is one word to keep and to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queue(DsqId);

/// The kinds of places where a task waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    /// A CPU's runqueue or local queue.
    Cpu(CpuId),
    /// The global queue.
    Global,
    /// One of the scheduler's own queues.
    User(DsqId),
    /// No queue: the BPF program holds it.
    Held,
}

/// Where a task waits, and why. The decision is kept in pieces, as they need less room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub(crate) queue: Queue,
    at: Instant,
    by: CpuId,
    /// [`NOWHERE`] if the task had not run.
    from: CpuId,
    to: CpuId,
    waker: TaskId,
    /// What was decided; `None` if the stream has no decision.
    act: Option<Act>,
    chooser: Option<Chooser>,
    /// It waits because it lost or gave up its CPU, and nobody has moved it since.
    pub(crate) left: Option<Why>,
}

/// No CPU.
pub(crate) const NOWHERE: CpuId = CpuId(u32::MAX);

impl Queue {
    /// The BPF program holds the task. As an id, `LOCAL` stands for one of the CPUs' queues, so it is free.
    pub(crate) const HELD: Self = Self(dsq::LOCAL);

    /// The queue of `cpu`.
    #[inline]
    pub(crate) const fn of(cpu: CpuId) -> Self {
        Self(DsqId(dsq::LOCAL_ON | cpu.0 as u64))
    }

    /// The queue with this id, if a scheduler has created it.
    #[inline]
    pub(crate) fn of_scheduler(id: DsqId) -> Option<Self> {
        (id.0 & dsq::FLAG_BUILTIN == 0).then_some(Self(id))
    }

    /// The queue with this id.
    #[inline]
    pub(crate) fn from_dsq(id: DsqId, rq: CpuId) -> Self {
        match local_cpu(id) {
            Some(cpu) => Self::of(cpu),
            None if id == dsq::LOCAL || id == dsq::BYPASS => Self::of(rq),
            None => Self(id),
        }
    }

    /// The CPU whose queue this is.
    #[inline]
    pub(crate) fn cpu(self) -> Option<CpuId> {
        local_cpu(self.0)
    }

    /// What it is.
    pub(crate) fn kind(self) -> QueueKind {
        match self {
            Self::HELD => QueueKind::Held,
            Self(dsq::GLOBAL) => QueueKind::Global,
            Self(id) => self.cpu().map_or(QueueKind::User(id), QueueKind::Cpu),
        }
    }

    pub(crate) fn words(self) -> String {
        match self.kind() {
            QueueKind::Cpu(cpu) => format!("in the queue of CPU {cpu}"),
            QueueKind::Global => "in the global queue".to_owned(),
            QueueKind::User(id) => format!("in the scheduler's queue {:#x}", id.0),
            QueueKind::Held => "held by the BPF program, in no queue".to_owned(),
        }
    }
}

/// The CPU whose local queue this is.
#[inline]
pub(crate) fn local_cpu(id: DsqId) -> Option<CpuId> {
    // Its two marks are the highest bits.
    (id.0 >= dsq::LOCAL_ON).then_some(CpuId((id.0 & dsq::LOCAL_CPU_MASK) as u32))
}

impl Here {
    /// Nothing is known yet.
    pub(crate) const UNKNOWN: Self = Self {
        queue: Queue::of(CpuId(0)),
        at: Instant::ZERO,
        by: CpuId(0),
        from: NOWHERE,
        to: CpuId(0),
        waker: TaskId::IDLE,
        act: None,
        chooser: None,
        left: None,
    };

    /// In `queue` by this decision.
    #[inline]
    pub(crate) fn by(queue: Queue, decision: Decision) -> Self {
        let Decision { act, at, by, from, to, chooser, waker, .. } = decision;
        Self { queue, at, by, from: from.unwrap_or(NOWHERE), to, waker, act: Some(act), chooser, left: None }
    }

    /// The decision in force about `task`, which is here; `None` if the stream has none.
    #[inline]
    pub(crate) fn decision(&self, task: TaskId) -> Option<Decision> {
        let Self { at, by, to, chooser, waker, .. } = *self;
        let from = self.from();
        self.act.map(|act| Decision { task, act, at, by, from, to, chooser, waker })
    }

    /// What was decided.
    #[inline]
    pub(crate) fn act(&self) -> Option<Act> {
        self.act
    }

    /// Where the task was before that, if it was decided.
    #[inline]
    pub(crate) fn from(&self) -> Option<CpuId> {
        (self.act.is_some() && self.from != NOWHERE).then_some(self.from)
    }

    /// Where the decision put it, if there is one.
    #[inline]
    pub(crate) fn to(&self) -> Option<CpuId> {
        self.act.map(|_| self.to)
    }

    /// Nobody knows how it came here.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.act = None;
    }

    /// The place as a clause: `in the queue of CPU 2, where select_cpu put it`. `waker` is the name in a sentence of
    /// the task that woke or created it.
    pub(crate) fn words(&self, waker: Option<&str>) -> String {
        format!("{}{}", self.queue.words(), self.why(waker))
    }

    fn why(&self, waker: Option<&str>) -> String {
        match (self.left, self.queue.kind(), self.act) {
            (Some(why @ (Why::Preempted | Why::Yielded)), queue, _) => {
                // Its clause has a comma already.
                let comma = if queue == QueueKind::Held { "," } else { "" };
                let did = if why == Why::Preempted { "was preempted" } else { "yielded" };
                format!("{comma} after it {did}")
            }
            (None, QueueKind::Cpu(_), Some(act)) => match (act, self.from()) {
                (Act::Pulled | Act::Pushed | Act::Moved, Some(from)) => {
                    format!(", where it was moved from CPU {from}")
                }
                (Act::Dispatched, _) => ", where the scheduler dispatched it".to_owned(),
                _ => put(act, self.chooser, waker),
            },
            _ => String::new(),
        }
    }
}

/// Who put it there when it was woken or created.
fn put(act: Act, chooser: Option<Chooser>, waker: Option<&str>) -> String {
    let did = if act == Act::Forked { "forked" } else { "woke" };
    let when = waker.map_or(String::new(), |waker| format!(" when {waker} {did} it"));
    match (chooser, waker) {
        (Some(Chooser::SelectCpu), _) => format!(", where select_cpu put it{when}"),
        (Some(Chooser::Default), _) => format!(", where the kernel's default choice put it{when}"),
        (Some(Chooser::Fallback), _) => {
            format!(", where the kernel put it because the chosen CPU was not allowed{when}")
        }
        (Some(Chooser::OnlyOne), None) => ", the only one allowed then".to_owned(),
        (Some(Chooser::OnlyOne), Some(_)) => format!(", the only one allowed{when}"),
        (Some(Chooser::Dispatch), _) => format!(", where the scheduler dispatched it{when}"),
        (None, Some(waker)) => format!(", where {waker} {did} it"),
        (None, None) => String::new(),
    }
}

/// The course of a wait: since when its current state has lasted, and the longest earlier state. The caller knows the
/// current state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course<T> {
    since: Instant,
    /// The length of the longest earlier state; without one, the least that counts.
    least: Span,
    longest: Option<T>,
}

impl<T: Copy> Course<T> {
    /// A wait begins. States shorter than `least` don't count.
    #[inline]
    pub(crate) fn begin(at: Instant, least: Span) -> Self {
        Self { since: at, least, longest: None }
    }

    /// The state changes; `before` gives the state until now.
    #[inline(always)]
    pub(crate) fn change(&mut self, at: Instant, before: impl FnOnce() -> T) {
        let part = at.after(self.since);
        // Shorter than the longest, or empty: nobody will ask for it.
        if part >= self.least {
            (self.least, self.longest) = (part, Some(before()));
        }
        self.since = at;
    }

    /// The longest state up to `at`, and its length, given that the current state is `now`; of equals the last.
    pub(crate) fn longest_until(&self, at: Instant, now: T) -> (Span, T) {
        let here = (at.since(self.since), now);
        self.longest.map(|longest| (self.least, longest)).filter(|longest| longest.0 > here.0).unwrap_or(here)
    }
}
