//! The steps of the kernel's cgroup paths.

use crate::state::cgroup::Number;
use crate::state::hooks::Point;
use keel_abi::{CpuId, TaskId};

/// One step of a cgroup path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CgroupFrame {
    /// Enabling: `ops.cgroup_init` for the cgroup at this place in the pre-order.
    Enable { place: u32 },
    /// `ops.cgroup_init` has returned.
    Enabled { number: Number, place: u32 },
    /// Disabling: `ops.cgroup_exit` for the cgroup at this place in the post-order.
    Disable { place: u32 },

    /// A step of the task's program, identified by its index: takes `cgroup_mutex`.
    Act { task: TaskId, step: u32 },
    /// Releases `cgroup_mutex`.
    Unlock,

    /// `cgroup_mkdir()`: `ops.cgroup_init` has returned.
    Made { number: Number },
    /// `cgroup_rmdir()`: `ops.cgroup_exit` has returned.
    Removed { number: Number },
    /// `ops.cgroup_set_weight` has returned.
    Weighed { number: Number, weight: u32 },
    /// `ops.cgroup_set_idle` has returned.
    Idled { number: Number, idle: bool },
    /// `ops.cgroup_set_bandwidth` has returned; the step says what happens next.
    Limited { number: Number, step: u32 },

    /// `scx_cgroup_can_attach()`: asks about the next task to move, starting at this one.
    Prepare { task: TaskId, to: Number, whole: bool, from: u32 },
    /// `ops.cgroup_prep_move` has returned.
    Prepared { task: TaskId, to: Number, whole: bool, mover: TaskId },
    /// One task was refused: cancels the moves that were prepared before.
    Cancel { to: Number, place: u32 },
    /// `cpu_cgroup_attach()`: the next task moves.
    Attach { place: u32 },
    /// `sched_move_task()`: takes the lock of the runqueue that the task was on when that was checked.
    Move { task: TaskId, to: Number, rq: CpuId },
    /// `ops.quiescent`, before the change.
    Quiesce { task: TaskId, to: Number, was_on: WasOn },
    /// The change itself, and `ops.cgroup_move`.
    Change { task: TaskId, to: Number, was_on: WasOn },
    /// Back on its runqueue.
    Restore { task: TaskId, was_on: WasOn },
    /// The next program that traces a cgroup, and who moves there, alone or with its whole process.
    Trace { point: Point, number: Number, task: TaskId, whole: bool, nth: u32 },
    /// `scx_tg_offline()` of a cgroup that has been removed, if the scheduler wants to know.
    Offline { number: Number, is_told: bool },
    /// `ops.running` again.
    Running { task: TaskId },
}

/// Where a task was when it was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WasOn {
    /// Asleep.
    None,
    /// Waiting for a CPU.
    Queue,
    /// On its CPU.
    Cpu,
}
