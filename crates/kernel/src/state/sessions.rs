//! Sessions and their autogroups, with their structures that BPF reads.

use crate::state::layout::{autogroup, cred, pid, pid_namespace, signal, upid};
use crate::state::setup::MAX_TASKS;
use keel_abi::TaskId;
use keel_abi::bpf::{Ea, World};
use std::collections::BTreeMap;

/// The distance from one `signal_struct` to the next: whole lines.
const SIGNAL_STRIDE: u64 = signal::SIZE.next_multiple_of(keel_abi::lines::LINE_BYTES);

/// `PIDTYPE_TGID`, `PIDTYPE_PGID`, `PIDTYPE_SID`.
const PIDTYPE_TGID: u64 = 1;
const PIDTYPE_PGID: u64 = 2;
pub(crate) const PIDTYPE_SID: u64 = 3;

/// `PROC_PID_INIT_INO`: the number of the first namespace of pids.
const FIRST_NAMESPACE: u32 = 0xefff_fffc;

/// The distance from one task's `struct pid` to the next.
const PID_STRIDE: u64 = pid::SIZE + upid::SIZE;

/// The offset in `struct pid` of the first namespace's number.
const FIRST_NR: u64 = pid::NUMBERS + upid::NR;

/// A session's number, in the order in which sessions began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u32);

impl Number {
    /// The session of the kernel's first task.
    pub(crate) const ROOT: Self = Self(0);
}

/// The addresses at which BPF sees a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    pub(crate) pid: Ea,
    pub(crate) autogroup: Ea,
    /// The process that began it; none for the root session.
    pub(crate) leader: Option<TaskId>,
    /// The autogroup's nice value.
    pub(crate) nice: i8,
}

/// Every process's session.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(crate) all: Vec<Session>,
    /// By task; only the entry of a thread group's leader counts.
    pub(crate) of_task: Vec<Number>,
    /// Sessions of tasks that start on their own, by the workload's number.
    pub(crate) started: BTreeMap<u32, Number>,
    /// The first task's `signal_struct`, behind the one of the idle tasks.
    signals: Ea,
    /// The first task's `struct pid`.
    pids: Ea,
    namespace: Ea,
    /// The `struct cred` that all tasks share.
    pub(crate) cred: Ea,
}

impl Sessions {
    /// Creates the root session; `None` when the world is full.
    pub(crate) fn new<W: World>(world: &mut W) -> Option<Self> {
        let idle = world.reserve(SIGNAL_STRIDE * (MAX_TASKS + 1))?;
        let pids = world.reserve(PID_STRIDE * MAX_TASKS)?;
        let namespace = world.alloc(pid_namespace::SIZE)?;
        world.put(namespace.offset(pid_namespace::INUM), &FIRST_NAMESPACE.to_le_bytes());
        let cred = world.alloc(cred::SIZE)?;
        let root = show(world, namespace, 0, 0)?;
        let signals = idle.offset(SIGNAL_STRIDE);
        write_signal(world, idle, root, root.pid, false);
        let (all, of_task, started) = (vec![root], Vec::new(), BTreeMap::new());
        Some(Self { all, of_task, started, signals, pids, namespace, cred })
    }

    /// The `signal_struct` that the idle tasks share.
    pub(crate) fn idle_signal(&self) -> Ea {
        Ea(self.signals.0 - SIGNAL_STRIDE)
    }

    /// A task's `struct pid`.
    pub(crate) fn pid_of(&self, task: TaskId) -> Ea {
        self.pids.offset(PID_STRIDE * u64::from(task.0))
    }

    /// Writes a new task's `struct pid`.
    pub(crate) fn write_pid<W: World>(&self, world: &mut W, task: TaskId, nr: u32) {
        write_pid(world, self.pid_of(task), self.namespace, nr);
    }

    /// Creates the structures of a session that a process begins.
    pub(crate) fn show<W: World>(&self, world: &mut W, nr: u32, id: u64) -> Option<Session> {
        show(world, self.namespace, nr, id)
    }

    pub(crate) fn signal_of(&self, leader: TaskId) -> Ea {
        self.signals.offset(SIGNAL_STRIDE * u64::from(leader.0))
    }
}

/// Creates a session's `struct pid` and `struct autogroup`; `None` when the world is full.
fn show<W: World>(world: &mut W, namespace: Ea, nr: u32, id: u64) -> Option<Session> {
    let at = world.alloc(PID_STRIDE)?;
    write_pid(world, at, namespace, nr);
    let group = world.alloc(autogroup::SIZE)?;
    world.put(group.offset(autogroup::ID), &id.to_le_bytes());
    Some(Session { pid: at, autogroup: group, leader: None, nice: 0 })
}

fn write_pid<W: World>(world: &mut W, at: Ea, namespace: Ea, nr: u32) {
    world.put(at.offset(FIRST_NR), &nr.to_le_bytes());
    world.put(at.offset(pid::NUMBERS + upid::NS), &namespace.0.to_le_bytes());
}

/// Writes a process's `signal_struct`. `own` is the process's own `struct pid`; each process is its own process group.
pub(crate) fn write_signal<W: World>(world: &mut W, at: Ea, session: Session, own: Ea, leads: bool) {
    for kind in [PIDTYPE_TGID, PIDTYPE_PGID] {
        world.put(at.offset(signal::PIDS + 8 * kind), &own.0.to_le_bytes());
    }
    world.put(at.offset(signal::PIDS + 8 * PIDTYPE_SID), &session.pid.0.to_le_bytes());
    world.put(at.offset(signal::AUTOGROUP), &session.autogroup.0.to_le_bytes());
    world.put(at.offset(signal::LEADER), &u32::from(leads).to_le_bytes());
}
