//! A random workload: its tasks, what each does, and what kind of workload that makes it.

use super::shape::Shape;
use std::collections::BTreeSet;

/// How much of the machine the tasks use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Light,
    Balanced,
    Overloaded,
}

impl Level {
    pub(super) const ALL: [Self; 3] = [Self::Light, Self::Balanced, Self::Overloaded];

    /// The wanted CPU time in percent: from, to.
    pub(super) fn percent(self) -> (u32, u32) {
        match self {
            Self::Light => (20, 60),
            Self::Balanced => (75, 105),
            Self::Overloaded => (130, 250),
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Balanced => "balanced",
            Self::Overloaded => "overloaded",
        }
    }
}

/// A workload on its machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) level: Level,
    pub(super) shape: Shape,
    /// The weights of its cgroups.
    pub(super) groups: Vec<u32>,
    pub(super) tasks: Vec<Task>,
}

/// Tasks of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) name: String,
    pub(super) instances: u32,
    pub(super) class: Class,
    /// The CPUs that it may use. All if empty.
    pub(super) cpus: Vec<u32>,
    /// The number of its cgroup.
    pub(super) group: Option<usize>,
    pub(super) body: Body,
}

/// A task's scheduling class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// With a nice value.
    Other(i32),
    /// Real-time, with a priority.
    Fifo(u32),
    /// Real-time with turns.
    RoundRobin(u32),
}

/// What a task does repeatedly. `run` is a time for which it keeps a CPU busy, whatever share of it it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Never sleeps.
    Hog,
    Sleeper {
        run_us: u32,
        sleep_us: u32,
    },
    Timer {
        run_us: u32,
        period_us: u32,
    },
    /// Works, works on with a lock held, sleeps.
    Locker {
        lock: String,
        run_us: u32,
        held_us: u32,
        sleep_us: u32,
    },
    /// Works, wakes another, sleeps.
    Giver {
        to: String,
        run_us: u32,
        sleep_us: u32,
    },
    /// Works each time a giver wakes it.
    Taker {
        run_us: u32,
    },
    /// Works until all others have.
    Member {
        barrier: String,
        run_us: u32,
        sleep_us: u32,
    },
    /// Works, writes into a pipe, sleeps.
    Sender {
        pipe: String,
        run_us: u32,
        sleep_us: u32,
    },
    /// Works for each message.
    Receiver {
        pipe: String,
        run_us: u32,
    },
    /// Forks a child, waits for its end, sleeps.
    Parent {
        child: String,
        sleep_us: u32,
    },
    /// Works, and ends.
    Child {
        run_us: u32,
    },
}

impl Body {
    /// What makes a workload of its kind.
    fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Hog | Self::Sleeper { .. } => None,
            Self::Timer { .. } => Some("timers"),
            Self::Locker { .. } => Some("locks"),
            Self::Giver { .. } | Self::Taker { .. } => Some("handovers"),
            Self::Member { .. } => Some("barriers"),
            Self::Sender { .. } | Self::Receiver { .. } => Some("pipes"),
            Self::Parent { .. } | Self::Child { .. } => Some("forks"),
        }
    }

    /// rt-app has no word for it. `tests/twin/random/player.c` does it.
    pub(super) fn is_played(&self) -> bool {
        matches!(self, Self::Sender { .. } | Self::Receiver { .. } | Self::Parent { .. } | Self::Child { .. })
    }
}

impl Workload {
    /// The words for its kind, its level first.
    pub(super) fn kinds(&self) -> Vec<&'static str> {
        let mut kinds = BTreeSet::new();
        for task in &self.tasks {
            kinds.extend(task.body.kind());
            kinds.extend((!task.cpus.is_empty()).then_some("pinned"));
            kinds.extend(task.group.map(|_| "cgroups"));
            kinds.extend(match task.class {
                Class::Other(0) => None,
                Class::Other(_) => Some("nice"),
                Class::Fifo(_) | Class::RoundRobin(_) => Some("realtime"),
            });
        }
        kinds.extend((self.shape.nodes > 1).then_some("nodes"));
        std::iter::once(self.level.word()).chain(kinds).collect()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.tasks.iter().map(|task| task.name.clone()).collect()
    }

    /// How many tasks of a name exist at once.
    pub(super) fn instances(&self, name: &str) -> u32 {
        self.tasks.iter().find(|task| task.name == name).map_or(1, |task| task.instances.max(1))
    }
}
