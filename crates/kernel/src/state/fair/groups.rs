//! Task groups (`struct task_group`): the cgroups and autogroups that have ever had fair tasks.
//!
//! A group has an entity and a queue on each CPU. They are created when the first task of the group joins that CPU.

use crate::state::cgroup::Number;
use crate::state::fair::bandwidth::{Budget, LocalBudget};
use crate::state::fair::entity::{Entities, Entity};
use crate::state::fair::ids::{GroupId, QueueId, Slot};
use crate::state::fair::load::QueueLoad;
use crate::state::fair::pelt_clock::QueueClock;
use crate::state::fair::queue::FairQueue;
use keel_abi::CpuId;
use std::collections::BTreeMap;

/// What a group represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// A cgroup; the root cgroup's group is [`GroupId::ROOT`].
    Cgroup(Number),
    /// The session with this number.
    Autogroup(u32),
}

/// One group.
#[derive(Debug)]
pub(crate) struct TaskGroup {
    pub(crate) origin: Origin,
    /// `None` for the root.
    pub(super) parent: Option<GroupId>,
    /// The number of groups from below the root down to this one.
    depth: u32,
    /// Its weight on the whole machine (`tg->shares`).
    pub(crate) shares: i64,
    /// Whether its `cpu.idle` is 1.
    pub(crate) is_idle: bool,
    /// The load of all its queues (`tg->load_avg`).
    pub(crate) load: u64,
    /// Its `cpu.max`.
    pub(crate) budget: Budget,
    /// Its slots, by CPU.
    slots: Vec<Option<Slot>>,
}

/// A group on one CPU.
#[derive(Debug)]
pub(crate) struct OnCpu {
    pub(crate) group: GroupId,
    pub(crate) cpu: CpuId,
    /// The queue of its tasks and of the groups below it.
    pub(crate) queue: FairQueue,
    pub(crate) load: QueueLoad,
    /// The clock of the queue's load.
    pub(crate) clock: QueueClock,
    /// The queue's contribution to the group's load (`tg_load_avg_contrib`).
    pub(crate) contribution: u64,
    /// When the contribution was last updated.
    pub(crate) contributed_ns: u64,
    pub(crate) local: LocalBudget,
    /// Whether it is on its CPU's list of queues whose load is updated (`cfs_rq->on_list`).
    pub(super) is_listed: bool,
}

/// All groups.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) all: Vec<TaskGroup>,
    by_origin: BTreeMap<Origin, GroupId>,
    pub(crate) slots: Vec<OnCpu>,
    /// By CPU, the queues whose load is updated, deeper ones first (`leaf_cfs_rq_list`).
    pub(crate) listed: Vec<Vec<Slot>>,
}

impl Groups {
    /// Creates the root group only.
    pub(super) fn new(cpus: usize) -> Self {
        let root = TaskGroup {
            origin: Origin::Cgroup(Number::ROOT),
            parent: None,
            depth: 0,
            shares: 0,
            is_idle: false,
            load: 0,
            budget: Budget::default(),
            slots: Vec::new(),
        };
        let by_origin = BTreeMap::from([(Origin::Cgroup(Number::ROOT), GroupId::ROOT)]);
        Self { all: vec![root], by_origin, slots: Vec::new(), listed: vec![Vec::new(); cpus] }
    }

    /// Returns whether there is no group other than the root.
    #[inline]
    pub(crate) fn is_flat(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the group with this origin, if tasks have ever been in it.
    pub(crate) fn find(&self, origin: Origin) -> Option<GroupId> {
        self.by_origin.get(&origin).copied()
    }

    pub(crate) fn add(&mut self, origin: Origin, parent: GroupId, shares: i64, is_idle: bool) -> GroupId {
        let id = GroupId(self.all.len() as u32);
        self.all.push(TaskGroup {
            origin,
            parent: Some(parent),
            depth: self.all[parent.index()].depth + 1,
            shares,
            is_idle,
            load: 0,
            budget: Budget::default(),
            slots: vec![None; self.listed.len()],
        });
        self.by_origin.insert(origin, id);
        id
    }

    /// Returns the group's queue on a CPU, created if necessary.
    pub(crate) fn queue_on(&mut self, entities: &mut Entities, group: GroupId, cpu: CpuId) -> QueueId {
        let TaskGroup { parent, shares, is_idle, ref budget, .. } = self.all[group.index()];
        let Some(parent) = parent else { return QueueId::root(cpu) };
        if let Some(slot) = self.all[group.index()].slots[cpu.index()] {
            return QueueId { cpu, slot };
        }
        let local = LocalBudget::new(budget.is_limited());
        let above = self.queue_on(entities, parent, cpu);
        let throttles = above.group().map_or(0, |above| self.slots[above.index()].local.throttles());
        let slot = Slot::at(self.slots.len());
        self.slots.push(OnCpu {
            group,
            cpu,
            queue: FairQueue::default(),
            load: QueueLoad::default(),
            clock: QueueClock::default(),
            contribution: 0,
            contributed_ns: 0,
            local: local.below(throttles),
            is_listed: false,
        });
        self.all[group.index()].slots[cpu.index()] = Some(slot);
        entities.add_group(Entity { weight: shares, is_idle, queue: above, ..Entity::NEW });
        QueueId { cpu, slot }
    }

    /// Returns the group's slot on a CPU, if there is one.
    pub(crate) fn slot(&self, group: GroupId, cpu: CpuId) -> Option<Slot> {
        self.all[group.index()].slots.get(cpu.index()).copied().flatten()
    }

    /// Returns the group's slots, by CPU.
    pub(crate) fn slots_of(&self, group: GroupId) -> Vec<Slot> {
        self.all[group.index()].slots.iter().copied().flatten().collect()
    }

    /// Returns the group's depth, counting itself but not the root (`se->depth` of the entities in it).
    pub(crate) fn depth_of(&self, slot: Slot) -> u32 {
        self.all[self.slots[slot.index()].group.index()].depth
    }

    /// Returns whether `above` is this group or one above it.
    pub(crate) fn is_within(&self, group: GroupId, above: GroupId) -> bool {
        self.upwards(group).any(|group| group == above)
    }

    /// Returns this group and those above it, the root last.
    pub(crate) fn upwards(&self, group: GroupId) -> impl Iterator<Item = GroupId> {
        std::iter::successors(Some(group), |group| self.all[group.index()].parent)
    }

    /// Returns the slots of all groups on a CPU.
    pub(crate) fn slots_on(&self, cpu: CpuId) -> impl Iterator<Item = Slot> {
        let all = self.slots.iter().enumerate();
        all.filter(move |(_, on_cpu)| on_cpu.cpu == cpu).map(|(place, _)| Slot::at(place))
    }

    /// Adds a queue that is no longer empty to the list of queues whose load is updated (`list_add_leaf_cfs_rq()`).
    pub(crate) fn list(&mut self, slot: Slot) {
        let OnCpu { cpu, group, is_listed, .. } = self.slots[slot.index()];
        if is_listed {
            return;
        }
        self.slots[slot.index()].is_listed = true;
        let depth = self.all[group.index()].depth;
        let place = self.listed[cpu.index()].partition_point(|&other| self.depth_of(other) >= depth);
        self.listed[cpu.index()].insert(place, slot);
    }

    /// Removes a queue that is empty and whose load has decayed from that list (`list_del_leaf_cfs_rq()`).
    pub(crate) fn unlist(&mut self, slot: Slot) {
        self.slots[slot.index()].is_listed = false;
        let cpu = self.slots[slot.index()].cpu;
        self.listed[cpu.index()].retain(|&other| other != slot);
    }
}
