//! Processes: their tasks and their parents.

use crate::state::objects::pages::MmId;
use keel_abi::TaskId;
use keel_abi::bpf::{Ea, MapId};
use keel_abi::lines::Line;
use keel_abi::task::Hint;

/// How a task is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Birth {
    /// Not forked: it starts at the beginning of the run or after its delay. This includes the kernel's first task.
    Start,
    /// As a thread of its parent's process.
    Thread,
    /// As a new process, by `fork()`.
    Process,
}

/// The process relations of every task.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    pub(crate) members: Vec<Member>,
    /// Address spaces of the processes that are not forked, by the workload's number, each with its first task.
    pub(crate) started: Vec<(u32, MmId, TaskId)>,
    /// The map to which hints are delivered.
    pub(crate) hints: Option<MapId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) mm: Option<MmId>,
    pub(crate) mm_ea: Ea,
    pub(crate) leader: TaskId,
    /// `real_parent`; [`TaskId::IDLE`] for the kernel's first task.
    pub(crate) parent: TaskId,
    /// It is a child process, not a thread: somebody waits for its end.
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
