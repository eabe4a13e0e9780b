//! The steps of kernel paths over cgroups.

use super::Number;
use super::moving::WasOn;
use crate::sim::Sim;
use keel_abi::bpf::Engine;
use keel_abi::cgroup::{Bandwidth, CgroupStep};
use keel_abi::{CpuId, TaskId};

/// One step of a path over cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CgroupFrame {
    /// Enabling: `ops.cgroup_init` for the cgroup at this place of the pre-order.
    Enable { place: u32 },
    /// It has returned.
    Enabled { number: Number, place: u32 },
    /// Disabling: `ops.cgroup_exit` for the cgroup at this place of the post-order.
    Disable { place: u32 },

    /// A step of the task's program, which the index of the step identifies: takes `cgroup_mutex`.
    Act { task: TaskId, step: u32 },
    /// Gives `cgroup_mutex` back.
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
    Limited { number: Number, task: TaskId, step: u32 },

    /// `scx_cgroup_can_attach()`: asks about the next of those who move, from a task on.
    Prepare { task: TaskId, to: Number, whole: bool, from: u32 },
    /// `ops.cgroup_prep_move` has returned.
    Prepared { task: TaskId, to: Number, whole: bool, mover: TaskId },
    /// One was refused: takes back what was prepared before.
    Cancel { to: Number, place: u32 },
    /// `cpu_cgroup_attach()`: the next of them moves.
    Attach { place: u32 },
    /// `sched_move_task()`: takes the lock of the runqueue that the task was on when it was looked at.
    Move { task: TaskId, to: Number, rq: CpuId },
    /// `ops.quiescent`, before the change.
    Quiesce { task: TaskId, to: Number, was_on: WasOn },
    /// The change itself, and `ops.cgroup_move`.
    Change { task: TaskId, to: Number, was_on: WasOn },
    /// Back on its runqueue.
    Restore { task: TaskId, was_on: WasOn },
    /// `ops.running` again.
    Running { task: TaskId },
}

impl<E: Engine> Sim<E> {
    /// Takes one step of `c`'s path.
    pub(crate) fn cgroup_step(&mut self, c: CpuId, frame: CgroupFrame) {
        match frame {
            CgroupFrame::Enable { place } => self.enable_cgroup(c, place),
            CgroupFrame::Enabled { number, place } => self.enabled_cgroup(c, number, place),
            CgroupFrame::Disable { place } => self.disable_cgroup(c, place),
            CgroupFrame::Act { task, step } => self.act_on_cgroup(c, task, step),
            CgroupFrame::Unlock => self.k.unlock_cgroups(c),
            CgroupFrame::Made { number } => self.made_cgroup(c, number),
            CgroupFrame::Removed { number } => self.removed_cgroup(number),
            CgroupFrame::Weighed { number, weight } => {
                self.k.cgroups[number].weight = weight;
                self.k.cgroup_changed_fair(number, false);
            }
            CgroupFrame::Idled { number, idle } => {
                self.k.cgroups[number].idle = idle;
                self.k.cgroup_changed_fair(number, false);
            }
            CgroupFrame::Limited { number, task, step } => {
                self.k.cgroups[number].bandwidth = self.k.bandwidth_of_step(task, step);
                self.k.cgroup_changed_fair(number, true);
            }
            CgroupFrame::Prepare { task, to, whole, from } => self.prepare_move(c, task, to, whole, from),
            CgroupFrame::Prepared { task, to, whole, mover } => self.prepared_move(c, task, to, whole, mover),
            CgroupFrame::Cancel { to, place } => self.cancel_move(c, to, place),
            CgroupFrame::Attach { place } => self.attach(place),
            CgroupFrame::Move { task, to, rq } => self.move_task(c, task, to, rq),
            CgroupFrame::Quiesce { task, to, was_on } => self.quiesce_for_move(c, task, to, was_on),
            CgroupFrame::Change { task, to, was_on } => self.change_cgroup(c, task, to, was_on),
            CgroupFrame::Restore { task, was_on } => self.restore_moved(c, task, was_on),
            CgroupFrame::Running { task } => self.running_again(c, task),
        }
    }
}

impl crate::kernel::Kernel {
    /// What a step of the task's program does to a cgroup.
    pub(super) fn cgroup_step_of(&self, task: TaskId, step: u32) -> CgroupStep {
        let spec = self.tasks[task].spec.expect("only tasks of the workload have programs");
        match self.workload.tasks[spec as usize].steps[step as usize] {
            keel_abi::task::Step::Cgroup(act) => act,
            _ => unreachable!("only such steps lead here"),
        }
    }

    fn bandwidth_of_step(&self, task: TaskId, step: u32) -> Bandwidth {
        match self.cgroup_step_of(task, step) {
            CgroupStep::Bandwidth(_, bandwidth) => bandwidth,
            _ => unreachable!("only such steps lead here"),
        }
    }
}
