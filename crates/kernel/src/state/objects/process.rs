//! Which tasks form a process, and the parent of each process.

use crate::state::objects::pages::MmId;
use keel_abi::TaskId;
use keel_abi::bpf::{Ea, MapId};
use keel_abi::lines::Line;
use keel_abi::task::Hint;

/// How a task comes into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Birth {
    /// Not forked: it starts at the run's beginning or after its delay; the kernel's first task
    /// too.
    Start,
    /// As a thread of its parent's process.
    Thread,
    /// As a process of its own, by `fork()`.
    Process,
}

/// Every task's place among the others.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    pub(crate) members: Vec<Member>,
    /// Address spaces of the processes that are not forked, by the workload's number; and the first
    /// task in each.
    pub(crate) started: Vec<(u32, MmId, TaskId)>,
    /// Where hints are delivered to.
    pub(crate) hints: Option<MapId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) mm: Option<MmId>,
    pub(crate) mm_ea: Ea,
    pub(crate) leader: TaskId,
    /// `real_parent`; [`TaskId::IDLE`] for the kernel's first task.
    pub(crate) parent: TaskId,
    /// Somebody waits for its end: it is no thread.
    pub(crate) is_child: bool,
    /// Address spaces it has made, so that their addresses differ.
    pub(crate) spaces: u32,
    pub(crate) children: u32,
    pub(crate) zombies: u32,
    pub(crate) waits: bool,
    pub(crate) hint: Option<Hint>,
    /// Represents the lines of `task_struct` that its start, its exit and its reaper write.
    pub(crate) line: Line,
    /// The same for the child that exited last.
    pub(crate) zombie: Line,
}
