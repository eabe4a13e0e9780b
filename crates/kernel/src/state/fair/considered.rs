//! What a placement or balancing under way has looked at, where a run asks for that.

use crate::rules::fair::stats::Stats;
use keel_abi::{CpuId, CpuSet};
use keel_trace::Policy;
use keel_trace::policy::{Group, Kind, MAX_GROUPS};

/// What a decision under way has looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Considered {
    pub(crate) cpus: CpuSet,
    nr_groups: u32,
    /// The first [`MAX_GROUPS`], the decider's own in front.
    groups: Vec<Group>,
}

impl Considered {
    /// A group that has been summed up.
    pub(crate) fn group(&mut self, cpus: &CpuSet, stats: &Stats, is_own: bool) {
        let few = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
        let group = Group {
            load: stats.load,
            first_cpu: cpus.lowest().unwrap_or(CpuId(0)),
            cpus: few(cpus.len() as u32),
            runnable: few(stats.fair_tasks),
        };
        self.nr_groups += 1;
        self.groups.insert(if is_own { 0 } else { self.groups.len() }, group);
        self.groups.truncate(MAX_GROUPS);
    }
}

impl Considered {
    pub(crate) fn policy(self, kind: Kind, cpu: CpuId) -> Policy {
        let Self { cpus, nr_groups, groups } = self;
        Policy { considered: cpus, nr_groups, groups, ..Policy::of(kind, cpu) }
    }
}
