//! The numbers by which BPF finds cgroups (`kernfs_node.id`).

use crate::state::cgroup::{Cgroups, Number};
use keel_abi::TaskId;
use keel_abi::bpf::Ea;

/// The distance from one cgroup's id to the next: the files of a cgroup's directory have the ids in between.
const IDS_A_CGROUP: u64 = 64;

/// The root's id.
const ROOT_ID: u64 = 1;

/// `kn->id` of a cgroup.
pub(crate) const fn kernfs_id(number: Number) -> u64 {
    ROOT_ID + IDS_A_CGROUP * number.0 as u64
}

/// The cgroup with this `kn->id`.
pub(super) fn number_of_kernfs_id(id: u64) -> Option<Number> {
    let offset = id.checked_sub(ROOT_ID)?;
    let number = u32::try_from(offset / IDS_A_CGROUP).ok()?;
    offset.is_multiple_of(IDS_A_CGROUP).then_some(Number(number))
}

impl Cgroups {
    /// The address at which BPF sees the task's cgroup.
    pub(crate) fn ea_of(&self, task: TaskId) -> Ea {
        self[self.of(task)].ea
    }
}
