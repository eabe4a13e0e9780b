//! How a task came to the CPU in whose queue it is: the last placement or balancing decision about it.

use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::Chooser;

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
        }
    }
}

/// A placement or balancing decision about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// About whom.
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
    /// Who chose the CPU of a wakeup or fork, where the stream tells.
    pub chooser: Option<Chooser>,
    /// Who woke or made it; [`TaskId::IDLE`] for an interrupt and in the other cases.
    pub waker: TaskId,
}

impl Decision {
    /// Was it moved, and by whom does the event's CPU tell.
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
                let act = if self.act == Act::Woken { "woken" } else { "made" };
                let last = match (self.act, self.from) {
                    (Act::Woken, Some(last)) if last == *to => ", where it had run last".to_owned(),
                    (Act::Woken, Some(last)) => format!("; it had run last on CPU {last}"),
                    _ => String::new(),
                };
                format!("{act} by CPU {by} and put on CPU {to}{} at {since}{last}", self.chooser_words())
            }
            Act::Pulled => format!("pulled{from} by CPU {to} at {since}"),
            Act::Pushed => format!("pushed{from} to CPU {to} at {since}"),
            Act::Moved => format!("moved{from} to CPU {to} by CPU {by} at {since}"),
            Act::Dispatched => format!("dispatched to CPU {to} by CPU {by} at {since}"),
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
