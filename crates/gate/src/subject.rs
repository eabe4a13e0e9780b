//! What has a budget: each kind of finding, and the scheduler's invalid memory accesses, which are counted and are not
//! findings.

use keel_check::Kind;

/// The subject of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Findings of one kind, without those that a program caused itself.
    Kind(Kind),
    /// The scheduler's loads and stores at invalid addresses.
    BadAccess,
}

/// The base of a subject's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The duration of the findings, relative to the time that CPUs were online, summed over CPUs.
    MachineTime,
    /// The number of findings per wakeup and fork.
    Wakeups,
    /// The number of findings per task.
    Tasks,
}

impl Of {
    /// Returns it in words, as in '2 % of the machine's time'.
    pub const fn words(self) -> &'static str {
        match self {
            Self::MachineTime => "the machine's time",
            Self::Wakeups => "the wakeups",
            Self::Tasks => "the tasks",
        }
    }
}

impl Subject {
    /// Returns all subjects, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().map(Self::Kind).chain([Self::BadAccess])
    }

    /// Returns its stable name: the kind's, or `bad_access`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.name(),
            Self::BadAccess => "bad_access",
        }
    }

    /// Returns the subject with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|subject| subject.name() == name)
    }

    /// Returns all names, separated by commas.
    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the base of its share, or `None` if it has neither a share nor a duration.
    pub const fn of(self) -> Option<Of> {
        match self {
            Self::Kind(Kind::WastedCore | Kind::Stall | Kind::LockWait) => Some(Of::MachineTime),
            Self::Kind(Kind::LongDelay | Kind::PriorityInversion | Kind::MisplacedRealtime) => {
                Some(Of::Wakeups)
            }
            Self::Kind(Kind::Starvation | Kind::Bouncing | Kind::UnfairShare) => Some(Of::Tasks),
            Self::BadAccess => None,
        }
    }
}
