//! Finds what a step of a task's program does to a cgroup.

use crate::state::kernel::Kernel;
use keel_abi::TaskId;
use keel_abi::cgroup::{Bandwidth, CgroupStep};

impl Kernel {
    /// Returns what a step of the task's program does to a cgroup.
    pub(crate) fn cgroup_step_of(&self, task: TaskId, step: u32) -> CgroupStep {
        let spec = self.tasks[task].spec.expect("only tasks of the workload have programs");
        match self.workload.tasks[spec as usize].steps[step as usize] {
            keel_abi::task::Step::Cgroup(act) => act,
            _ => unreachable!("only such steps lead here"),
        }
    }

    pub(crate) fn bandwidth_of_step(&self, task: TaskId, step: u32) -> Bandwidth {
        match self.cgroup_step_of(task, step) {
            CgroupStep::Bandwidth(_, bandwidth) => bandwidth,
            _ => unreachable!("only such steps lead here"),
        }
    }
}
