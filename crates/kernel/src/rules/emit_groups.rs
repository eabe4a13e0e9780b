//! Emits facts about cgroups and policies, so that a replay has the same ones.

use crate::state::cgroup::Number;
use crate::state::kernel::Kernel;
use keel_abi::TaskId;
use keel_abi::task::{Policy, Step, Workload};
use keel_abi::timeline::Change;
use keel_trace::{Class, GroupInfo, Meta};

/// Returns whether a workload has cgroups, or tasks with a policy other than the default.
pub(crate) fn has_groups_or_policies(workload: &Workload) -> bool {
    let other = |policy: Policy| policy != Policy::Other;
    let sets = |step: &Step| matches!(step, Step::Policy(_));
    !workload.cgroups.is_empty()
        || workload.tasks.iter().any(|spec| other(spec.policy) || spec.steps.iter().any(sets))
        || workload.timeline.iter().any(|entry| matches!(entry.change, Change::Policy { .. }))
}

impl Kernel {
    fn tells_groups(&self) -> bool {
        self.has_groups_or_policies && self.out.wants(Class::ACTS)
    }

    /// Emits the cgroups that exist from the beginning.
    pub(crate) fn emit_first_groups(&mut self) {
        self.cgroups.pre_order().into_iter().for_each(|number| self.emit_group(number));
    }

    /// Emits a cgroup that has been created, or whose settings have changed.
    pub(crate) fn emit_group(&mut self, number: Number) {
        let group = &self.cgroups[number];
        let (Some(place), true) = (group.id.place(), self.tells_groups()) else { return };
        let path = &self.workload.cgroups[place].path;
        let info = GroupInfo {
            group: number.0,
            parent: group.parent.map_or(0, |parent| parent.0),
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            weight: group.weight,
            bandwidth: group.bandwidth,
            idle: group.idle,
            session: false,
        };
        self.out.emit_meta(self.now, Meta::Group(Box::new(info)));
    }

    /// Emits a task's policy and cgroup.
    pub(crate) fn emit_scheduled(&mut self, task: TaskId) {
        if self.tells_groups() && self.tasks[task].spec.is_some() {
            let (policy, group) = (self.tasks[task].policy.number(), self.cgroups.of(task).0);
            self.out.emit_meta(self.now, Meta::Scheduled { task, policy, group });
        }
    }
}
