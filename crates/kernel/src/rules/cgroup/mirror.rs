//! Keeps the `struct cgroup` that BPF sees, with its `kernfs_node`, `css_set` and `task_group`.

use crate::state::cgroup::Number;
use crate::state::cgroup::kernfs::kernfs_id;
use crate::state::kernel::Kernel;
use crate::state::layout::{cgroup, css_set, kernfs_node, task as task_field, task_group};
use keel_abi::TaskId;
use keel_abi::bpf::{Ea, World};

/// `CSS_ONLINE`.
const CSS_ONLINE: u32 = 1 << 1;

/// `__PERCPU_REF_ATOMIC_DEAD`, which marks a reference count as killed.
const REF_DEAD: u64 = 3;

/// The size of the longest name that the kernel keeps (`NAME_MAX`), with its terminating NUL.
const NAME_BYTES: u64 = 256;

impl Kernel {
    /// Creates the structures that BPF sees of a new cgroup. Returns false if the world is full.
    pub(super) fn mirror_cgroup<W: World>(&mut self, world: &mut W, number: Number) -> bool {
        let level = u64::from(self.cgroups[number].level);
        let size = cgroup::SIZE + 8 * (level + 1);
        let parts = [size, css_set::SIZE, kernfs_node::SIZE, NAME_BYTES, task_group::SIZE]
            .map(|bytes| bytes.next_multiple_of(64));
        let Some(at) = world.alloc(parts.iter().sum()) else { return false };
        let (css, kn) = (at.offset(parts[0]), at.offset(parts[0] + parts[1]));
        let name = kn.offset(parts[2]);
        let group = name.offset(parts[3]);
        self.cgroups[number].ea = at;
        self.cgroups.by_address.insert(at, number);
        self.cgroups[number].css_set = css;
        self.cgroups[number].task_group = group;

        let put = |world: &mut W, at: Ea, word: u64| world.put(at, &word.to_le_bytes());
        put(world, at.offset(cgroup::SELF_CGROUP), at.0);
        let parent = self.cgroups[number].parent.map_or(0, |parent| self.cgroups[parent].ea.0);
        put(world, at.offset(cgroup::SELF_PARENT), parent);
        world.put(at.offset(cgroup::SELF_FLAGS), &CSS_ONLINE.to_le_bytes());
        world.put(at.offset(cgroup::LEVEL), &(level as u32).to_le_bytes());
        put(world, at.offset(cgroup::KN), kn.0);
        put(world, at.offset(cgroup::DOM_CGRP), at.0);
        for above in 0..=level {
            let ancestor = self.cgroups.ancestor(number, above as u32).expect("a line has no gaps");
            put(world, at.offset(cgroup::ANCESTORS + 8 * above), self.cgroups[ancestor].ea.0);
        }
        put(world, css.offset(css_set::DFL_CGRP), at.0);
        put(world, group.offset(task_group::CSS_CGROUP), at.0);
        let parent = self.cgroups[number].parent.map_or(0, |parent| self.cgroups[parent].task_group.0);
        put(world, group.offset(task_group::CSS_PARENT), parent);
        put(world, kn.offset(kernfs_node::NAME), name.0);
        put(world, kn.offset(kernfs_node::ID), kernfs_id(number));
        let text = self.cgroup_name(number).into_bytes();
        world.put(name, &text[..text.len().min(NAME_BYTES as usize - 1)]);
        true
    }

    /// Returns the last component of the cgroup's path. It is empty for the root.
    fn cgroup_name(&self, number: Number) -> String {
        let place = self.cgroups[number].id.place();
        let path = place.map_or("", |place| self.workload.cgroups[place].path.as_str());
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// Marks the reference count of a removed cgroup as dead, because some schedulers check that.
    pub(crate) fn mirror_cgroup_dead<W: World>(&self, world: &mut W, number: Number) {
        let at = self.cgroups[number].ea;
        world.put(at.offset(cgroup::SELF_FLAGS), &0u32.to_le_bytes());
        world.put(at.offset(cgroup::SELF_REFCNT), &REF_DEAD.to_le_bytes());
    }

    /// Writes `p->sched_task_group`. Where the kernel has an autogroup's task group, this has the root's.
    pub(crate) fn mirror_task_group<W: World>(&self, world: &mut W, task: TaskId) {
        let group = self.cgroups[self.cgroups.of(task)].task_group;
        world.put(self.tasks[task].ea.offset(task_field::SCHED_TASK_GROUP), &group.0.to_le_bytes());
    }

    /// Writes `p->cgroups`.
    pub(crate) fn mirror_membership<W: World>(&self, world: &mut W, task: TaskId, number: Number) {
        let css = self.cgroups[number].css_set;
        world.put(self.tasks[task].ea.offset(task_field::CGROUPS), &css.0.to_le_bytes());
    }
}
