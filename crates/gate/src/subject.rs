//! What has a budget: each kind of finding, and the scheduler's invalid memory accesses, which are counted and are no
//! finding.

use keel_check::Kind;

/// What a budget is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Findings of one kind, those that are a program's own doing left out.
    Kind(Kind),
    /// The scheduler's loads and stores at invalid addresses.
    BadAccess,
}

/// What a share of a subject is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// How long the findings lasted, of the time that CPUs were online, summed over CPUs.
    MachineTime,
    /// How many findings there were for each wakeup and fork.
    Wakeups,
    /// How many findings there were for each task.
    Tasks,
}

impl Of {
    /// In words, as in '2 % of the machine's time'.
    pub const fn words(self) -> &'static str {
        match self {
            Self::MachineTime => "the machine's time",
            Self::Wakeups => "the wakeups",
            Self::Tasks => "the tasks",
        }
    }
}

impl Subject {
    /// All of them, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().map(Self::Kind).chain([Self::BadAccess])
    }

    /// Its stable name: that of the kind, or `bad_access`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.name(),
            Self::BadAccess => "bad_access",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|subject| subject.name() == name)
    }

    /// All names, with commas between them.
    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// What its share is a share of; none where it has neither share nor duration.
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
