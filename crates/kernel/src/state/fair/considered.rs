//! Records what a placement or balancing attempt in progress has looked at, if a run asks for it.

use keel_abi::{CpuId, CpuSet};
use keel_trace::Policy;
use keel_trace::policy::{Group, Kind};

/// What a decision in progress has looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Considered {
    pub(crate) cpus: CpuSet,
    pub(crate) nr_groups: u32,
    /// The first [`MAX_GROUPS`](keel_trace::policy::MAX_GROUPS), beginning with the deciding CPU's own.
    pub(crate) groups: Vec<Group>,
}

impl Considered {
    pub(crate) fn policy(self, kind: Kind, cpu: CpuId) -> Policy {
        let Self { cpus, nr_groups, groups } = self;
        Policy { considered: cpus, nr_groups, groups, ..Policy::of(kind, cpu) }
    }
}
