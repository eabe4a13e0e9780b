//! Where a task waits and who put it there, kept as data and told in words only when asked.

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
    /// A queue of the scheduler's own.
    User(DsqId),
    /// No queue: the BPF program keeps it.
    Held,
}

/// What brought it there, as far as the stream told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Its CPU was chosen.
    Chosen(Chooser),
    /// It was moved there from another CPU.
    Moved(CpuId),
    /// It lost or gave up its CPU.
    Left(Why),
    /// It woke or was made there.
    Woke,
}

/// A task's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) queue: Queue,
    pub(crate) by: By,
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

    fn words(self) -> String {
        match self {
            Self::Cpu(cpu) => format!("in the queue of CPU {cpu}"),
            Self::Global => "in the global queue".to_owned(),
            Self::User(id) => format!("in the scheduler's queue {:#x}", id.0),
            Self::Held => "in the hands of the BPF program, in no queue".to_owned(),
        }
    }
}

/// The CPU whose local queue this is.
pub(crate) fn local_cpu(id: DsqId) -> Option<CpuId> {
    (id.0 & dsq::LOCAL_ON == dsq::LOCAL_ON).then_some(CpuId((id.0 & dsq::LOCAL_CPU_MASK) as u32))
}

impl Place {
    /// As a clause: `in the queue of CPU 2, where select_cpu had put it`.
    pub(crate) fn words(self) -> String {
        format!("{}{}", self.queue.words(), self.by_words())
    }

    fn by_words(self) -> String {
        match (self.queue, self.by) {
            (Queue::Cpu(_), By::Chosen(chooser)) => match chooser {
                Chooser::SelectCpu => ", where select_cpu had put it".to_owned(),
                Chooser::Default => ", where the kernel's default choice had put it".to_owned(),
                Chooser::Fallback => {
                    ", where the kernel had put it because the chosen CPU was not allowed".to_owned()
                }
                Chooser::OnlyOne => ", the only one allowed then".to_owned(),
                Chooser::Dispatch => ", where the scheduler had dispatched it".to_owned(),
            },
            (Queue::Cpu(_), By::Moved(from)) => format!(", where it had been moved from CPU {from}"),
            (_, By::Left(Why::Preempted)) => " after it had been preempted".to_owned(),
            (_, By::Left(Why::Yielded)) => " after it had yielded".to_owned(),
            (_, By::Woke | By::Left(_) | By::Chosen(_) | By::Moved(_)) => String::new(),
        }
    }
}

/// The places of one wait: the one at hand, and the one where it waited longest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// Where it is.
    pub(crate) now: Place,
    since: Instant,
    longest: Option<(Span, Place)>,
}

impl Places {
    /// A wait begins.
    pub(crate) fn begin(at: Instant, place: Place) -> Self {
        Self { now: place, since: at, longest: None }
    }

    /// It waits elsewhere from now on.
    pub(crate) fn change(&mut self, at: Instant, place: Place) {
        self.longest = Some(self.longest_until(at));
        (self.now, self.since) = (place, at);
    }

    /// Where it waited longest, until `now`: the place to name when asked why it waited.
    pub(crate) fn main(&self, now: Instant) -> Place {
        self.longest_until(now).1
    }

    fn longest_until(&self, now: Instant) -> (Span, Place) {
        let here = (now.since(self.since), self.now);
        self.longest.filter(|longest| longest.0 > here.0).unwrap_or(here)
    }
}
