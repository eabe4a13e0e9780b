//! The cgroup tree of the cpu controller (`struct cgroup`, `struct task_group`), the tasks in each cgroup, and what
//! schedulers are notified of.
//!
//! Every new cgroup gets a unique number, which is never reused: when a path is removed and created again, it names a
//! different cgroup. The root has number 0.

pub(crate) mod kernfs;
mod now;

use crate::state::cost::lock::LockUse;
use keel_abi::bpf::Ea;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, WEIGHT_DFL};
use keel_abi::{CpuId, Instant, Span, TaskId};
use std::collections::{BTreeMap, VecDeque};

/// A cgroup's number. Cgroups are numbered in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(pub(crate) u32);

impl Number {
    pub(crate) const ROOT: Self = Self(0);
}

/// The maximum number of cgroups that one run can create.
const MOST: usize = 1 << 20;

/// A cgroup.
#[derive(Debug)]
pub(crate) struct Group {
    /// The address of its `struct cgroup` in the world.
    pub(crate) ea: Ea,
    /// The address of its `struct css_set`.
    pub(crate) css_set: Ea,
    /// The address of its `struct task_group`.
    pub(crate) task_group: Ea,
    /// Its id in the workload.
    pub(crate) id: CgroupId,
    pub(crate) parent: Option<Number>,
    /// Live children, in the order of creation.
    pub(crate) children: Vec<Number>,
    /// Its level in the tree; 0 for the root.
    pub(crate) level: u32,
    pub(crate) weight: u32,
    pub(crate) bandwidth: Bandwidth,
    pub(crate) idle: bool,
    /// Whether it can be found and joined (`CSS_ONLINE`).
    online: bool,
    /// Whether the kernel itself holds a reference: from creation until after the cgroup has gone offline.
    is_held: bool,
    /// Whether `ops.cgroup_init` has initialized it (`SCX_TG_INITED`).
    pub(crate) inited: bool,
    /// The number of tasks in it.
    pub(crate) tasks: u32,
    /// The number of references that BPF holds.
    refs: u32,
    /// The CPU time that tasks used here before they moved elsewhere.
    left: Span,
}

/// All cgroups, and the cgroup of every task.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    groups: Vec<Group>,
    /// By address.
    pub(crate) by_address: BTreeMap<Ea, Number>,
    /// By task.
    of_task: Vec<Number>,
    /// By task, the CPU time that it had used when it moved to its cgroup.
    before: Vec<Span>,
    /// By [`CgroupId`], the cgroup that has the path now.
    present: Vec<Option<Number>>,
    /// Whether the scheduler is notified of cgroups (`scx_cgroup_enabled`).
    pub(crate) enabled: bool,
    /// The cgroups in the order in which the scheduler is being notified of them.
    pub(crate) walk: Vec<Number>,
    /// The tasks that are being moved, each with its old and its new cgroup.
    pub(crate) moving: Vec<(TaskId, Number, Number)>,
    /// Whether they are a whole process.
    pub(crate) moves_process: bool,
    /// `cgroup_mutex`, which protects cgroups and memberships.
    pub(crate) mutex: Mutex,
}

/// A lock with a queue of waiters.
#[derive(Debug, Default)]
pub(crate) struct Mutex {
    pub(crate) holder: Option<CpuId>,
    pub(crate) free_at: Instant,
    pub(crate) waiters: VecDeque<CpuId>,
    /// When the holder took it.
    pub(crate) since: Instant,
    pub(crate) uses: LockUse,
}

impl Cgroups {
    /// Returns the usage statistics of `cgroup_mutex`.
    pub(crate) fn mutex_uses(&self) -> LockUse {
        self.mutex.uses
    }
}

impl std::ops::Index<Number> for Cgroups {
    type Output = Group;
    fn index(&self, number: Number) -> &Group {
        &self.groups[number.0 as usize]
    }
}

impl std::ops::IndexMut<Number> for Cgroups {
    fn index_mut(&mut self, number: Number) -> &mut Group {
        &mut self.groups[number.0 as usize]
    }
}

impl Group {
    pub(crate) fn parent(&self) -> Option<Number> {
        self.parent
    }

    /// `cpu.weight`.
    pub(crate) fn weight(&self) -> u32 {
        self.weight
    }

    /// `cpu.idle`.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }

    /// `cpu.max`.
    pub(crate) fn bandwidth(&self) -> Bandwidth {
        self.bandwidth
    }
}

impl Cgroups {
    /// Returns the cgroup that the task is in (`task_group(p)`).
    pub(crate) fn of(&self, task: TaskId) -> Number {
        self.of_task[task.index()]
    }

    /// Returns whether the task is in a cgroup other than the root.
    pub(crate) fn is_below_root(&self, task: TaskId) -> bool {
        self[self.of(task)].level > 0
    }

    /// Returns the cgroup that has the workload's path now.
    pub(crate) fn present(&self, id: CgroupId) -> Option<Number> {
        self.present.get(id.0 as usize).copied().flatten()
    }

    /// Returns the cgroup whose `struct cgroup` begins at `at`.
    pub(crate) fn at(&self, at: Ea) -> Option<Number> {
        self.by_address.get(&at).copied()
    }

    /// Returns the live cgroup with this id (`__cgroup_get_from_id()`).
    pub(crate) fn with_kernfs_id(&self, id: u64) -> Option<Number> {
        let number = kernfs::number_of_kernfs_id(id)?;
        self.groups.get(number.0 as usize).filter(|group| group.online).map(|_| number)
    }

    /// Returns the ancestor of a cgroup at a level, which may be the cgroup itself.
    pub(crate) fn ancestor(&self, of: Number, level: u32) -> Option<Number> {
        let mut number = of;
        while self[number].level > level {
            number = self[number].parent?;
        }
        (self[number].level == level).then_some(number)
    }

    /// Takes a reference, if the cgroup still has any (`cgroup_tryget()`). Returns whether it does.
    pub(crate) fn try_get(&mut self, number: Number) -> bool {
        let group = &mut self[number];
        let is_held = group.is_held || group.refs > 0;
        if is_held {
            group.refs = group.refs.saturating_add(1);
        }
        is_held
    }

    /// Drops a reference that BPF holds. Returns whether it was the last one of a removed cgroup.
    pub(crate) fn put(&mut self, number: Number) -> bool {
        let group = &mut self[number];
        let had = group.refs;
        group.refs = had.saturating_sub(1);
        had == 1 && !group.is_held
    }

    /// Drops the kernel's own reference. Returns whether it was the last one.
    pub(crate) fn let_go(&mut self, number: Number) -> bool {
        self[number].is_held = false;
        self[number].refs == 0
    }

    /// Adds a new task to this cgroup.
    pub(crate) fn add_task(&mut self, task: TaskId, number: Number) {
        debug_assert_eq!(self.of_task.len(), task.index(), "tasks are placed as they are made");
        self.of_task.push(number);
        self.before.push(Span::ZERO);
        self[number].tasks += 1;
    }

    /// Removes a dead task from its cgroup, although the task still refers to it.
    pub(crate) fn remove_task(&mut self, task: TaskId) {
        let number = self.of(task);
        self[number].tasks -= 1;
    }

    /// Moves a task, which has used this much CPU time in total.
    pub(crate) fn move_task(&mut self, task: TaskId, to: Number, cpu_time: Span) {
        let from = std::mem::replace(&mut self.of_task[task.index()], to);
        let before = std::mem::replace(&mut self.before[task.index()], cpu_time);
        self[from].left += cpu_time - before;
        self[from].tasks -= 1;
        self[to].tasks += 1;
    }

    /// Returns by cgroup the CPU time that tasks used there before they moved elsewhere.
    fn used_by_leavers(&self) -> Vec<Span> {
        self.groups.iter().map(|group| group.left).collect()
    }

    /// Returns the CPU time that the task had used when it moved to its cgroup.
    fn used_before(&self, task: TaskId) -> Span {
        self.before[task.index()]
    }

    /// Adds a cgroup that cannot be found yet. Returns `None` if there are too many.
    pub(crate) fn add(
        &mut self,
        id: CgroupId,
        parent: Option<Number>,
        settings: Option<&Cgroup>,
    ) -> Option<Number> {
        if self.groups.len() >= MOST {
            return None;
        }
        let number = Number(self.groups.len() as u32);
        self.groups.push(Group {
            ea: Ea::NULL,
            css_set: Ea::NULL,
            task_group: Ea::NULL,
            id,
            parent,
            children: Vec::new(),
            level: parent.map_or(0, |parent| self[parent].level + 1),
            weight: settings.map_or(WEIGHT_DFL, |settings| settings.weight),
            bandwidth: settings.map_or_else(Bandwidth::default, |settings| settings.bandwidth),
            idle: settings.is_some_and(|settings| settings.idle),
            online: false,
            is_held: true,
            inited: false,
            tasks: 0,
            refs: 0,
            left: Span::ZERO,
        });
        Some(number)
    }

    /// Makes a cgroup available under its path.
    pub(crate) fn publish(&mut self, number: Number) {
        let (id, parent) = (self[number].id, self[number].parent);
        self[number].online = true;
        if let Some(parent) = parent {
            self[parent].children.push(number);
        }
        let place = id.0 as usize;
        if self.present.len() <= place {
            self.present.resize(place + 1, None);
        }
        self.present[place] = Some(number);
    }

    /// Makes a cgroup unavailable.
    pub(crate) fn withdraw(&mut self, number: Number) {
        let (id, parent) = (self[number].id, self[number].parent);
        self[number].online = false;
        self[number].inited = false;
        if let Some(parent) = parent {
            self[parent].children.retain(|&child| child != number);
        }
        self.present[id.0 as usize] = None;
    }

    /// Returns all live cgroups, parents before their children (`css_for_each_descendant_pre()`).
    pub(crate) fn pre_order(&self) -> Vec<Number> {
        let mut open = vec![Number::ROOT];
        let mut order = Vec::new();
        while let Some(number) = open.pop() {
            order.push(number);
            open.extend(self[number].children.iter().rev());
        }
        order
    }

    /// Returns all live cgroups, children before their parents (`css_for_each_descendant_post()`).
    pub(crate) fn post_order(&self) -> Vec<Number> {
        let mut open = vec![Number::ROOT];
        let mut order = Vec::new();
        while let Some(number) = open.pop() {
            order.push(number);
            open.extend(&self[number].children);
        }
        order.reverse();
        order
    }
}

#[cfg(test)]
mod tests;
