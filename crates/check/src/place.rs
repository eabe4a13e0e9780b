//! Where a task waits and who put it there, kept as data and put into words only on request.

use crate::origin::{Act, Decision};
use keel_abi::scx::dsq;
use keel_abi::{CpuId, DsqId, Instant, Span};
use keel_trace::{Chooser, Why};

/// Where a task waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// A CPU's runqueue or local queue.
    Cpu(CpuId),
    /// The global queue.
    Global,
    /// One of the scheduler's own queues.
    User(DsqId),
    /// No queue: the BPF program holds it.
    Held,
}

/// Where a task waits, and why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub(crate) queue: Queue,
    /// It waits because it lost or gave up its CPU, and nobody has moved it since.
    pub(crate) left: Option<Why>,
    /// The decision in force; `None` if the stream has none.
    pub(crate) decision: Option<Decision>,
}

impl Queue {
    /// The queue with this id.
    pub(crate) fn from_dsq(id: DsqId, rq: CpuId) -> Self {
        match id {
            dsq::GLOBAL => Self::Global,
            dsq::LOCAL | dsq::BYPASS => Self::Cpu(rq),
            id => local_cpu(id).map_or(Self::User(id), Self::Cpu),
        }
    }

    pub(crate) fn words(self) -> String {
        match self {
            Self::Cpu(cpu) => format!("in the queue of CPU {cpu}"),
            Self::Global => "in the global queue".to_owned(),
            Self::User(id) => format!("in the scheduler's queue {:#x}", id.0),
            Self::Held => "held by the BPF program, in no queue".to_owned(),
        }
    }
}

/// The CPU whose local queue this is.
pub(crate) fn local_cpu(id: DsqId) -> Option<CpuId> {
    (id.0 & dsq::LOCAL_ON == dsq::LOCAL_ON).then_some(CpuId((id.0 & dsq::LOCAL_CPU_MASK) as u32))
}

impl Here {
    /// Nothing is known yet.
    pub(crate) const UNKNOWN: Self = Self { queue: Queue::Cpu(CpuId(0)), left: None, decision: None };

    /// The place as a clause: `in the queue of CPU 2, where select_cpu put it`. `waker` is the name in a sentence of
    /// the task that woke or created it.
    pub(crate) fn words(&self, waker: Option<&str>) -> String {
        format!("{}{}", self.queue.words(), self.why(waker))
    }

    fn why(&self, waker: Option<&str>) -> String {
        match (self.left, self.queue, &self.decision) {
            (Some(why @ (Why::Preempted | Why::Yielded)), queue, _) => {
                // Its clause has a comma already.
                let comma = if queue == Queue::Held { "," } else { "" };
                let did = if why == Why::Preempted { "was preempted" } else { "yielded" };
                format!("{comma} after it {did}")
            }
            (None, Queue::Cpu(_), Some(decision)) => match (decision.act, decision.from) {
                (Act::Pulled | Act::Pushed | Act::Moved, Some(from)) => {
                    format!(", where it was moved from CPU {from}")
                }
                (Act::Dispatched, _) => ", where the scheduler dispatched it".to_owned(),
                _ => put(decision, waker),
            },
            _ => String::new(),
        }
    }
}

/// Who put it there when it was woken or created.
fn put(decision: &Decision, waker: Option<&str>) -> String {
    let did = if decision.act == Act::Forked { "forked" } else { "woke" };
    let when = waker.map_or(String::new(), |waker| format!(" when {waker} {did} it"));
    match (decision.chooser, waker) {
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
    longest: Option<(Span, T)>,
}

impl<T: Copy> Course<T> {
    /// A wait begins.
    #[inline]
    pub(crate) fn begin(at: Instant) -> Self {
        Self { since: at, longest: None }
    }

    /// The state changes; `before` gives the state until now.
    #[inline]
    pub(crate) fn change(&mut self, at: Instant, before: impl FnOnce() -> T) {
        let part = at.since(self.since);
        // Shorter than the longest, or empty: nobody will ask for it.
        if part > Span::ZERO && self.longest.is_none_or(|(longest, _)| longest <= part) {
            self.longest = Some((part, before()));
        }
        self.since = at;
    }

    /// The longest state up to `at`, and its length, given that the current state is `now`; of equals the last.
    pub(crate) fn longest_until(&self, at: Instant, now: T) -> (Span, T) {
        let here = (at.since(self.since), now);
        self.longest.filter(|longest| longest.0 > here.0).unwrap_or(here)
    }
}
