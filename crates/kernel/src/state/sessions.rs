//! Sessions and their autogroups, with what BPF reads of them.

use crate::state::layout::{autogroup, pid, signal, upid};
use crate::state::setup::MAX_TASKS;
use keel_abi::TaskId;
use keel_abi::bpf::{Ea, World};
use std::collections::BTreeMap;

/// From one `signal_struct` to the next: whole lines.
const SIGNAL_STRIDE: u64 = signal::SIZE.next_multiple_of(keel_abi::lines::LINE_BYTES);

/// `PIDTYPE_SID`.
pub(crate) const PIDTYPE_SID: u64 = 3;

/// The offset in `struct pid` of the first namespace's number.
const FIRST_NR: u64 = pid::NUMBERS + upid::NR;

/// A session among all, in the order in which they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u32);

impl Number {
    /// The kernel's first task's.
    pub(crate) const ROOT: Self = Self(0);
}

/// The address at which BPF sees a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    pub(crate) pid: Ea,
    pub(crate) autogroup: Ea,
    /// The process that began it; none for the root's.
    pub(crate) leader: Option<TaskId>,
    /// The autogroup's nice value.
    pub(crate) nice: i8,
}

/// Every process's session.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(crate) all: Vec<Session>,
    /// By task; only that of a thread group's leader counts.
    pub(crate) of_task: Vec<Number>,
    /// Sessions of tasks that start by themselves, by the workload's number.
    pub(crate) started: BTreeMap<u32, Number>,
    /// The first task's `signal_struct`, behind that of the idle tasks.
    signals: Ea,
}

impl Sessions {
    /// Only the root's; `None` when the world is full.
    pub(crate) fn new<W: World>(world: &mut W) -> Option<Self> {
        let idle = world.reserve(SIGNAL_STRIDE * (MAX_TASKS + 1))?;
        let root = show(world, 0, 0)?;
        let signals = idle.offset(SIGNAL_STRIDE);
        write_signal(world, idle, root, false);
        Some(Self { all: vec![root], of_task: Vec::new(), started: BTreeMap::new(), signals })
    }

    /// The `signal_struct` that the idle tasks share.
    pub(crate) fn idle_signal(&self) -> Ea {
        Ea(self.signals.0 - SIGNAL_STRIDE)
    }

    pub(crate) fn signal_of(&self, leader: TaskId) -> Ea {
        self.signals.offset(SIGNAL_STRIDE * u64::from(leader.0))
    }
}

/// Makes a session's `struct pid` and `struct autogroup`; nothing when the world is full.
pub(crate) fn show<W: World>(world: &mut W, nr: u32, id: u64) -> Option<Session> {
    let at = world.alloc(pid::SIZE + upid::SIZE)?;
    world.put(at.offset(FIRST_NR), &nr.to_le_bytes());
    let group = world.alloc(autogroup::SIZE)?;
    world.put(group.offset(autogroup::ID), &id.to_le_bytes());
    Some(Session { pid: at, autogroup: group, leader: None, nice: 0 })
}

pub(crate) fn write_signal<W: World>(world: &mut W, at: Ea, session: Session, leads: bool) {
    world.put(at.offset(signal::PIDS + 8 * PIDTYPE_SID), &session.pid.0.to_le_bytes());
    world.put(at.offset(signal::AUTOGROUP), &session.autogroup.0.to_le_bytes());
    world.put(at.offset(signal::LEADER), &u32::from(leads).to_le_bytes());
}
