//! Finds the task group and the queue that a task belongs to, and the groups above them.

use crate::state::cgroup::Number;
use crate::state::fair::entity::Entities;
use crate::state::fair::groups::Origin;
use crate::state::fair::ids::{EntityId, GroupId, QueueId, Slot};
use crate::state::fair::queue::FairQueue;
use crate::state::fair::weight::{group_weight, weight_of};
use crate::state::kernel::Kernel;
use keel_abi::task::Policy;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Returns the group of a task (`task_group()`, `autogroup_task_group()`): its cgroup's, or its session's autogroup
    /// if it is in the root cgroup.
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
        self.emit_limit(task, group);
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

    /// Returns the queue that a task joins on a CPU.
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

    /// Returns a queue.
    #[inline]
    pub(super) fn queue_at(&self, at: QueueId) -> &FairQueue {
        match at.group() {
            None => &self.cpus[at.cpu].fair,
            Some(slot) => &self.fair.groups.slots[slot.index()].queue,
        }
    }

    /// Returns a queue, with the entities that its methods need.
    #[inline]
    pub(super) fn queue_mut(&mut self, at: QueueId) -> (&mut FairQueue, &mut Entities) {
        let fair = &mut self.fair;
        match at.group() {
            None => (&mut self.cpus[at.cpu].fair, &mut fair.entities),
            Some(slot) => (&mut fair.groups.slots[slot.index()].queue, &mut fair.entities),
        }
    }

    /// Returns the queue of the group that an entity represents, or `None` for a task.
    #[inline]
    pub(super) fn queue_below(&self, id: EntityId) -> Option<QueueId> {
        id.slot().map(|slot| QueueId { cpu: self.fair.groups.slots[slot.index()].cpu, slot })
    }

    /// Returns the groups that a queue is in on its CPU, its own first and then upwards.
    pub(super) fn groups_above(&self, at: QueueId) -> impl Iterator<Item = Slot> {
        std::iter::successors(at.group(), |slot| self.fair.entities[slot.entity()].queue.group())
    }

    /// Returns the fair task that runs on a CPU, whether it is still queued or is just being dequeued.
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

    /// Returns all tasks in a CPU's queues.
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
