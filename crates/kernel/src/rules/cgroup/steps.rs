//! Finds what a step of a task's program does to a cgroup.

use crate::state::kernel::Kernel;
use keel_abi::cgroup::{Bandwidth, CgroupStep};

impl Kernel {
    /// Returns what a step of a task's program does to a cgroup.
    pub(crate) fn cgroup_step_of(&self, step: u32) -> CgroupStep {
        match self.steps.at(step) {
            Some(&keel_abi::task::Step::Cgroup(act)) => act,
            _ => unreachable!("only such steps lead here"),
        }
    }

    pub(crate) fn bandwidth_of_step(&self, step: u32) -> Bandwidth {
        match self.cgroup_step_of(step) {
            CgroupStep::Bandwidth(_, bandwidth) => bandwidth,
            _ => unreachable!("only such steps lead here"),
        }
    }
}
