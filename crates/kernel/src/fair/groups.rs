//! Task groups (`struct task_group`): cgroups and autogroups, as far as fair tasks are in them.
//!
//! A group has an entity and a queue on each CPU. They are made when its first task comes to that CPU.

use super::bandwidth::{Budget, LocalBudget};
use super::entity::{Entities, Entity};
use super::ids::{EntityId, GroupId, QueueId, Slot};
use super::load::QueueLoad;
use super::pelt_clock::QueueClock;
use super::queue::FairQueue;
use super::weight::{group_weight, weight_of};
use crate::cgroup::Number;
use crate::kernel::Kernel;
use keel_abi::task::Policy;
use keel_abi::{CpuId, TaskId};
use std::collections::BTreeMap;

/// What a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// A cgroup; the root's is [`GroupId::ROOT`].
    Cgroup(Number),
    /// The session with this number.
    Autogroup(u32),
}

/// One group.
#[derive(Debug)]
pub(super) struct TaskGroup {
    /// Nothing for the root.
    pub(super) parent: Option<GroupId>,
    /// Groups between it and the root, itself included.
    depth: u32,
    /// What it weighs on the whole machine (`tg->shares`).
    pub(super) shares: i64,
    /// Its `cpu.idle` is 1.
    pub(super) is_idle: bool,
    /// The load of all its queues (`tg->load_avg`).
    pub(super) load: u64,
    /// Its `cpu.max`.
    pub(super) budget: Budget,
    /// By CPU.
    slots: Vec<Option<Slot>>,
}

/// A group on one CPU.
#[derive(Debug)]
pub(super) struct OnCpu {
    pub(super) group: GroupId,
    pub(super) cpu: CpuId,
    /// Its tasks and the groups below it.
    pub(super) queue: FairQueue,
    pub(super) load: QueueLoad,
    /// What that is counted by.
    pub(super) clock: QueueClock,
    /// Its part of the group's load (`tg_load_avg_contrib`).
    pub(super) contribution: u64,
    /// When that was last counted.
    pub(super) contributed_ns: u64,
    pub(super) local: LocalBudget,
    /// It is on its CPU's list of queues whose load is counted (`cfs_rq->on_list`).
    pub(super) is_listed: bool,
}

/// All groups.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) all: Vec<TaskGroup>,
    by_origin: BTreeMap<Origin, GroupId>,
    pub(super) slots: Vec<OnCpu>,
    /// By CPU, the queues whose load is counted, deeper ones first (`leaf_cfs_rq_list`).
    pub(super) listed: Vec<Vec<Slot>>,
}

impl Groups {
    /// The root alone.
    pub(super) fn new(cpus: usize) -> Self {
        let root = TaskGroup {
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

    /// Is there no group but the root?
    #[inline]
    pub(super) fn is_flat(&self) -> bool {
        self.slots.is_empty()
    }

    /// The group of this origin, if tasks have been in it.
    pub(super) fn find(&self, origin: Origin) -> Option<GroupId> {
        self.by_origin.get(&origin).copied()
    }

    fn add(&mut self, origin: Origin, parent: GroupId, shares: i64, is_idle: bool) -> GroupId {
        let id = GroupId(self.all.len() as u32);
        self.all.push(TaskGroup {
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

    /// The group's queue on a CPU, made where it is not there yet.
    pub(super) fn queue_on(&mut self, entities: &mut Entities, group: GroupId, cpu: CpuId) -> QueueId {
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

    /// The group's queue on a CPU, if there is one.
    pub(super) fn slot(&self, group: GroupId, cpu: CpuId) -> Option<Slot> {
        self.all[group.index()].slots.get(cpu.index()).copied().flatten()
    }

    /// The group's queues, by CPU.
    pub(super) fn slots_of(&self, group: GroupId) -> Vec<Slot> {
        self.all[group.index()].slots.iter().copied().flatten().collect()
    }

    /// Groups between the root and this one, itself included (`se->depth` of what is in it).
    pub(super) fn depth_of(&self, slot: Slot) -> u32 {
        self.all[self.slots[slot.index()].group.index()].depth
    }

    /// Is `above` this group or one that it is in?
    pub(super) fn is_within(&self, group: GroupId, above: GroupId) -> bool {
        self.upwards(group).any(|group| group == above)
    }

    /// This group and those that it is in, the root last.
    pub(super) fn upwards(&self, group: GroupId) -> impl Iterator<Item = GroupId> {
        std::iter::successors(Some(group), |group| self.all[group.index()].parent)
    }

    /// The groups on a CPU.
    pub(super) fn slots_on(&self, cpu: CpuId) -> impl Iterator<Item = Slot> {
        let all = self.slots.iter().enumerate();
        all.filter(move |(_, on_cpu)| on_cpu.cpu == cpu).map(|(place, _)| Slot::at(place))
    }

    /// A queue has got something: its load is counted from now on (`list_add_leaf_cfs_rq()`).
    pub(super) fn list(&mut self, slot: Slot) {
        let OnCpu { cpu, group, is_listed, .. } = self.slots[slot.index()];
        if is_listed {
            return;
        }
        self.slots[slot.index()].is_listed = true;
        let depth = self.all[group.index()].depth;
        let place = self.listed[cpu.index()].partition_point(|&other| self.depth_of(other) >= depth);
        self.listed[cpu.index()].insert(place, slot);
    }

    /// Nothing is left in it, nor of its load (`list_del_leaf_cfs_rq()`).
    pub(super) fn unlist(&mut self, slot: Slot) {
        self.slots[slot.index()].is_listed = false;
        let cpu = self.slots[slot.index()].cpu;
        self.listed[cpu.index()].retain(|&other| other != slot);
    }
}

impl Kernel {
    /// The group of a task (`task_group()`, `autogroup_task_group()`): its cgroup, or its session's autogroup if that is the
    /// root's.
    fn group_of(&mut self, task: TaskId) -> GroupId {
        if let Some(group) = self.fair.entity(task).group {
            return group;
        }
        let number = self.cgroups.of(task);
        let group = match number {
            Number::ROOT if !self.machine.autogroup => GroupId::ROOT,
            Number::ROOT => match self.session_of(task) {
                0 => GroupId::ROOT,
                session => self.autogroup(session),
            },
            number => self.group_of_cgroup(number),
        };
        self.fair.entity(task).group = Some(group);
        self.tell_limit(task, group);
        group
    }

    fn group_of_cgroup(&mut self, number: Number) -> GroupId {
        if let Some(group) = self.fair.groups.find(Origin::Cgroup(number)) {
            return group;
        }
        let cgroup = &self.cgroups[number];
        let (parent, is_idle, bandwidth) = (cgroup.parent(), cgroup.is_idle(), cgroup.bandwidth());
        let shares = group_weight(cgroup.weight(), is_idle);
        let parent = parent.map_or(GroupId::ROOT, |parent| self.group_of_cgroup(parent));
        let group = self.fair.groups.add(Origin::Cgroup(number), parent, shares, is_idle);
        self.set_budget(group, bandwidth);
        group
    }

    fn autogroup(&mut self, session: u32) -> GroupId {
        let origin = Origin::Autogroup(session);
        if let Some(known) = self.fair.groups.find(origin) {
            return known;
        }
        let shares = weight_of(Policy::Other, self.autogroup_nice(session));
        self.fair.groups.add(origin, GroupId::ROOT, shares, false)
    }

    /// The queue that a task joins on a CPU.
    #[inline]
    pub(super) fn home_of(&mut self, task: TaskId, cpu: CpuId) -> QueueId {
        match self.group_of(task) {
            GroupId::ROOT => QueueId::root(cpu),
            group => {
                let known = self.fair.groups.slots.len();
                let home = self.fair.groups.queue_on(&mut self.fair.entities, group, cpu);
                for new in known..self.fair.groups.slots.len() {
                    self.attach_group(Slot::at(new));
                }
                home
            }
        }
    }

    /// A queue.
    #[inline]
    pub(super) fn queue_at(&self, at: QueueId) -> &FairQueue {
        match at.group() {
            None => &self.cpus[at.cpu].fair,
            Some(slot) => &self.fair.groups.slots[slot.index()].queue,
        }
    }

    /// A queue, with the entities that its functions need.
    #[inline]
    pub(super) fn queue_mut(&mut self, at: QueueId) -> (&mut FairQueue, &mut Entities) {
        let fair = &mut self.fair;
        match at.group() {
            None => (&mut self.cpus[at.cpu].fair, &mut fair.entities),
            Some(slot) => (&mut fair.groups.slots[slot.index()].queue, &mut fair.entities),
        }
    }

    /// The queue of the group that an entity stands for; nothing for a task.
    #[inline]
    pub(super) fn queue_below(&self, id: EntityId) -> Option<QueueId> {
        id.slot().map(|slot| QueueId { cpu: self.fair.groups.slots[slot.index()].cpu, slot })
    }

    /// The groups on its CPU that a queue is in, from its own upwards.
    pub(super) fn groups_above(&self, at: QueueId) -> impl Iterator<Item = Slot> {
        std::iter::successors(at.group(), |slot| self.fair.entities[slot.entity()].queue.group())
    }

    /// The fair task that runs on a CPU, on its queues or just leaving them.
    #[inline]
    pub(super) fn fair_curr(&self, cpu: CpuId) -> Option<TaskId> {
        let mut id = self.cpus[cpu].fair.curr()?;
        loop {
            match self.queue_below(id) {
                None => return id.task(),
                Some(below) => id = self.queue_at(below).curr()?,
            }
        }
    }

    /// All tasks in a CPU's queues.
    pub(super) fn fair_tasks(&self, cpu: CpuId) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        let mut open = vec![QueueId::root(cpu)];
        while let Some(at) = open.pop() {
            for id in self.queue_at(at).all() {
                tasks.extend(id.task());
                open.extend(self.queue_below(id));
            }
        }
        tasks
    }
}
