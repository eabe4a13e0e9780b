//! The state of one task while its tape is written.

use crate::pipes::Nth;
use crate::policies::Scheduled;
use crate::timers::Sleeps;
use keel_abi::tape::{Begin, Op, Tape};
use keel_abi::task::{Hint, Step};
use keel_abi::{CpuId, CpuSet, Instant, Span};
use keel_trace::{Call, Source};

/// A wakeup that a task makes while it is on its way to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meanwhile {
    pub(crate) semaphore: u32,
    pub(crate) sync: bool,
}

/// The current state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It has not appeared yet.
    Unseen,
    /// It runs or is runnable.
    Runnable,
    /// It has waited for a wakeup since this instant.
    Waits(Instant),
    /// It sleeps with a timer that is on its tape.
    Sleeps,
    /// It has exited.
    Gone,
}

/// A task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) nice: i8,
    pub(crate) cpus: CpuSet,
    pub(crate) scheduled: Scheduled,
    pub(crate) tape: Tape,
    /// Where its tape was when it last got a CPU.
    pub(crate) stay_begins: usize,
    /// Steps that its tape refers to.
    pub(crate) steps: Vec<Step>,
    /// The slice that it has requested, and a hint about it.
    pub(crate) slice: Option<Span>,
    pub(crate) hint: Option<Hint>,
    pub(crate) doing: Doing,
    /// Whether it has ended. Later records about it, in a damaged recording, are never played.
    pub(crate) ended: bool,
    /// Whether it is leaving its CPU, so that its wakeups happen on the way.
    pub(crate) leaves: bool,
    /// Whether the current step has woken a task.
    pub(crate) posts: bool,
    /// Whether it was between two steps: its last work took no time.
    pub(crate) has_paused: bool,
    /// Wakeups on the way to a wait that has not ended yet.
    pub(crate) meanwhile: Vec<Meanwhile>,
    /// Its process and session, and whether it is a kernel thread, if recorded.
    pub(crate) member: Option<(u32, u32, bool)>,
    /// How it starts, if no task creates it.
    pub(crate) begin: Option<Begin>,
    /// Whether another task creates it.
    pub(crate) is_forked: bool,
    /// The CPU that it runs on, and since when its time there has not been counted.
    pub(crate) on: Option<(CpuId, Instant)>,
    /// Its work since its last op.
    pub(crate) used: Span,
    /// The part of that which was scheduling.
    pub(crate) charged: Span,
    pub(crate) sleeps: Sleeps,
    /// How it waited, and what wakes it, for the next wakeup.
    pub(crate) waited: Option<(Call, Source)>,
    /// The pipe to which it writes, and the number of bytes.
    pub(crate) writes: Option<(u32, u32)>,
    /// The waits since it started to read from a pipe.
    pub(crate) reads: Vec<Nth>,
    /// The number of waits that an unknown source ended.
    pub(crate) outside: u64,
    /// Its work so far, and the number of waits that ended.
    worked: Span,
    waits: u64,
}

impl Task {
    /// Creates a task of which only the number is known.
    pub(crate) fn new(number: u32) -> Self {
        Self {
            name: format!("task-{number}"),
            nice: 0,
            cpus: CpuSet::new(),
            scheduled: Scheduled::default(),
            tape: Tape::default(),
            stay_begins: 0,
            steps: Vec::new(),
            slice: None,
            hint: None,
            doing: Doing::Unseen,
            ended: false,
            leaves: false,
            posts: false,
            has_paused: false,
            meanwhile: Vec::new(),
            member: None,
            begin: None,
            is_forked: false,
            on: None,
            used: Span::ZERO,
            charged: Span::ZERO,
            sleeps: Sleeps::default(),
            waited: None,
            writes: None,
            reads: Vec::new(),
            outside: 0,
            worked: Span::ZERO,
            waits: 0,
        }
    }

    /// Returns whether it runs, so that it can act.
    pub(crate) const fn is_alive(&self) -> bool {
        self.on.is_some() && !self.ended
    }

    /// Returns whether something starts it.
    pub(crate) fn comes(&self) -> bool {
        self.begin.is_some() || self.is_forked
    }

    /// Puts the work since its last op on the tape, without the scheduling costs in it, and returns how much that is.
    /// If scheduling takes longer on the simulated machine than all of that, later work pays for the rest: a task's
    /// total time is the recorded one.
    pub(crate) fn put_work(&mut self) -> Span {
        let used = std::mem::take(&mut self.used);
        let work = used.saturating_sub(self.charged);
        self.charged = self.charged.saturating_sub(used);
        if work > Span::ZERO {
            self.tape.push(Op::Run(work));
        }
        self.worked += work;
        work
    }

    /// Returns how much work it is likely to have left at the recording's end: the mean work between two waits, or
    /// `rest` if it never waited.
    pub(crate) fn likely_left(&self, rest: Span) -> Span {
        match self.waits {
            0 => rest,
            waits => rest.min(Span::from_ns(self.worked.as_ns() / waits)),
        }
    }

    /// Puts the throughput of its stay on a CPU on the tape. It is recorded at the end of the stay, when the wait that
    /// ends it may be on the tape already. So it goes to the beginning: a replay then counts the same at the same end.
    pub(crate) fn put_count(&mut self, units: u32) {
        self.tape.insert(self.stay_begins, Op::Count(units));
    }

    /// Puts a wait that is over on the tape, as `op`.
    pub(crate) fn put_wait(&mut self, op: Op) {
        self.tape.push(op);
        self.waits += 1;
        for Meanwhile { semaphore, sync } in self.meanwhile.drain(..) {
            self.tape.push(Op::PostMeanwhile { semaphore, sync });
        }
    }
}
