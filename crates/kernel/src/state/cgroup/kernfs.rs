//! The ids by which BPF finds cgroups (`kernfs_node.id`).

use crate::state::cgroup::{Cgroups, Number};
use keel_abi::TaskId;
use keel_abi::bpf::Ea;

/// Returns a cgroup's `kn->id`.
pub(crate) const fn kernfs_id(number: Number) -> u64 {
    keel_abi::cgroup::kernfs_id(number.0)
}

/// Returns the cgroup with this `kn->id`.
pub(super) fn number_of_kernfs_id(id: u64) -> Option<Number> {
    keel_abi::cgroup::number_of_kernfs_id(id).map(Number)
}

impl Cgroups {
    /// Returns the address at which BPF sees the task's cgroup.
    pub(crate) fn ea_of(&self, task: TaskId) -> Ea {
        self[self.of(task)].ea
    }
}
