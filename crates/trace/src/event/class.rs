//! Classes of events: a sink says which it wants, and a run leaves out the others.

/// Kinds of events that a sink may leave out, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class(pub u16);

impl Class {
    /// No events: nothing listens.
    pub const NONE: Self = Self(0);
    /// Switch, wakeup, fork, exit, migrate, online, bypass, priority, throttled, reserved, lost: what every judge
    /// needs.
    pub const CORE: Self = Self(1 | 2048);
    /// Like [`Class::CORE`], but a task's placement and its wakeup may be one event, and so may its move to a CPU and
    /// its insert into the queue there; and short waits for locks are only summed. A sink that also wants
    /// [`Class::DECISIONS`] and [`Class::PLACES`] may ask for that; it gets it unless another sink wants the core
    /// events apart.
    pub const BRIEF: Self = Self(1);
    /// Placed, kick.
    pub const DECISIONS: Self = Self(2);
    /// Where tasks wait: queued, held, and unqueued. A simulated run leaves out unqueued events of tasks that do not
    /// run, unless [`Class::QUEUES`] is wanted: they wait where they were until the next of these events, a wakeup or a
    /// switch.
    pub const PLACES: Self = Self(4);
    /// Every queued, unqueued and held.
    pub const QUEUES: Self = Self(4 | 512);
    /// Callback.
    pub const COSTS: Self = Self(8);
    /// Count, for the sums: a simulated run may emit what a task has done as late as when it exits or the stream ends,
    /// unless [`Class::COUNTS`] is wanted.
    pub const UNITS: Self = Self(16);
    /// Every count, when the task leaves its CPU.
    pub const COUNTS: Self = Self(16 | 1024);
    /// A scheduler's reports of its decisions ([`Meta::Policy`](super::Meta::Policy)).
    pub const POLICY: Self = Self(32);
    /// Waiting for locks: a CPU's, and a task's.
    pub const LOCKS: Self = Self(64);
    /// What tasks did themselves: worked, acts. An exact replay needs it.
    pub const ACTS: Self = Self(128);
    /// How tasks waited, from recordings of real kernels.
    pub const CALLS: Self = Self(256);
    /// All of them.
    pub const ALL: Self = Self(4095);

    /// Returns the union of both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns it without asking for what [`Class::BRIEF`] leaves out of [`Class::CORE`].
    #[must_use]
    pub const fn in_brief(self) -> Self {
        Self(self.0 & !Self::CORE.0 | self.0 & Self::BRIEF.0)
    }

    /// Returns whether it includes all of `other`.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
