//! Walks up the group hierarchy from a task: when the task joins a queue, its group joins the queue above, and so on
//! (`for_each_sched_entity()`).

use crate::state::fair::ids::{EntityId, QueueId, Slot};
use crate::state::fair::queue::{Counts, Joins, Share};
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

/// Why an entity leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// The task moves elsewhere or is changed, and stays runnable.
    Moves,
    /// It goes to sleep, and stays queued while its lag is negative (`DELAY_DEQUEUE`).
    Sleeps,
    /// It goes to sleep or dies, and does not stay queued.
    Goes,
    /// Its group has used up its `cpu.max` (`DEQUEUE_THROTTLE`).
    Throttled,
}

impl Kernel {
    /// Enqueues a task's entity, and each group above it that was empty.
    pub(super) fn join_queues(&mut self, task: TaskId, share: Share, joins: Joins) {
        let (mut id, mut share, mut joins) = (EntityId::from(task), share, joins);
        let mut come = Counts::one(share.is_idle);
        loop {
            let at = self.fair.entities[id].queue;
            let (queue, entities) = self.queue_mut(at);
            queue.join(entities, id, share, joins);
            queue.count(come);
            let slice_ns = queue.shortest_slice_ns();
            let Some(slot) = at.group() else { return };
            if self.queue_at(at).entities() == 1 {
                self.fair.groups.list(slot);
                self.check_enqueue_throttle(slot);
                self.restart_clock(slot);
            }
            id = slot.entity();
            if self.fair.entities[id].is_idle {
                come.idle = come.queued;
            }
            if self.fair.entities[id].on_rq {
                if self.fair.entities[id].delayed {
                    self.requeue(id);
                }
                return self.count_above(id, slice_ns, come, Counts::default());
            }
            self.update_entity(id);
            let entity = &self.fair.entities[id];
            share = Share { weight: entity.weight, slice_ns, is_idle: entity.is_idle };
            joins = Joins::Restart;
        }
    }

    /// Dequeues an entity, and each group that becomes empty (`dequeue_entities()`). Returns false if the entity itself
    /// stays for now.
    pub(crate) fn leave_queues(&mut self, id: EntityId, why: Leaves) -> bool {
        let cpu = self.fair.entities[id].queue.cpu;
        let had_others = !self.cpus[cpu].fair.is_idle_only();
        let leaves = self.leave_upwards(id, why);
        if had_others && self.cpus[cpu].fair.is_idle_only() {
            // If only SCHED_IDLE tasks are left, tasks on other CPUs may be more important, so the CPU balances at its
            // next tick.
            self.fair.next_balance[cpu.index()] = self.ticks();
        }
        leaves
    }

    fn leave_upwards(&mut self, id: EntityId, why: Leaves) -> bool {
        let tick_ns = self.tick.as_ns();
        let (mut id, mut why, sleeps) = (id, why, why != Leaves::Moves);
        let entity = &self.fair.entities[id];
        let mut gone = match id.task() {
            Some(_) => Counts { delayed: u32::from(entity.delayed), ..Counts::one(entity.is_idle) },
            None => Counts::default(),
        };
        loop {
            let at = self.fair.entities[id].queue;
            self.stop_preferring(id);
            let (queue, entities) = self.queue_mut(at);
            if why == Leaves::Sleeps && queue.try_delay(entities, id, tick_ns) {
                if id.task().is_some() {
                    self.count_delayed(at);
                    return false;
                }
                let slice_ns = self.fair.entities[id].slice_ns;
                self.count_above(id, slice_ns, Counts::default(), gone);
                return true;
            }
            queue.leave(entities, id, why != Leaves::Moves, tick_ns);
            queue.discount(gone);
            let (slice_ns, is_empty) = (queue.shortest_slice_ns(), queue.entities() == 0);
            let Some(slot) = at.group() else { return true };
            id = slot.entity();
            if self.fair.entities[id].is_idle {
                gone.idle = gone.queued;
            }
            if !is_empty {
                if sleeps {
                    self.prefer(id);
                }
                self.count_above(id, slice_ns, Counts::default(), gone);
                return true;
            }
            self.return_runtime(slot);
            self.stop_clock(slot);
            self.update_entity(id);
            if why == Leaves::Moves || why == Leaves::Goes {
                why = Leaves::Sleeps;
            }
        }
    }

    /// After a task of this group went to sleep: lets the others in the group have the rest of its turn
    /// (`set_next_buddy()`).
    fn prefer(&mut self, group: EntityId) {
        let mut id = group;
        while self.fair.entities[id].on_rq && !self.fair.entities[id].is_idle {
            let at = self.fair.entities[id].queue;
            self.queue_mut(at).0.prefer(id);
            let Some(slot) = at.group() else { return };
            id = slot.entity();
        }
    }

    /// Makes picks no longer prefer this entity or the groups above it (`clear_buddies()`).
    pub(super) fn stop_preferring(&mut self, id: EntityId) {
        let mut id = id;
        loop {
            let at = self.fair.entities[id].queue;
            if !self.queue_mut(at).0.stop_preferring(id) {
                return;
            }
            let Some(slot) = at.group() else { return };
            id = slot.entity();
        }
    }

    /// Updates loads, weights and counts from a queued entity upwards, after tasks below it have come or gone.
    fn count_above(&mut self, id: EntityId, slice_ns: u64, come: Counts, gone: Counts) {
        let (mut id, mut slice_ns, mut come, mut gone) = (id, slice_ns, come, gone);
        loop {
            self.update_entity(id);
            let at = self.fair.entities[id].queue;
            let (queue, entities) = self.queue_mut(at);
            queue.set_slice(entities, id, slice_ns);
            queue.count(come);
            queue.discount(gone);
            slice_ns = queue.shortest_slice_ns();
            let Some(slot) = at.group() else { return };
            id = slot.entity();
            if self.fair.entities[id].is_idle {
                (come.idle, gone.idle) = (come.queued, gone.queued);
            }
        }
    }

    /// Counts a task that starts to sleep in this queue (`set_delayed()`).
    fn count_delayed(&mut self, at: QueueId) {
        let sleeper = Counts { delayed: 1, ..Counts::default() };
        self.each_queue(at, |queue| queue.count(sleeper));
    }

    fn each_queue(&mut self, at: QueueId, mut change: impl FnMut(&mut crate::state::fair::queue::FairQueue)) {
        let mut at = at;
        loop {
            change(self.queue_mut(at).0);
            let Some(slot) = at.group() else { return };
            at = self.fair.entities[slot.entity()].queue;
        }
    }

    /// Wakes a task that has stayed in its queue.
    pub(super) fn wake_in_queue(&mut self, task: TaskId) {
        let id = EntityId::from(task);
        self.requeue(id);
        let sleeper = Counts { delayed: 1, ..Counts::default() };
        self.each_queue(self.fair.entities[id].queue, |queue| queue.discount(sleeper));
    }

    /// `requeue_delayed_entity()`.
    fn requeue(&mut self, id: EntityId) {
        let tick_ns = self.tick.as_ns();
        let at = self.fair.entities[id].queue;
        let (queue, entities) = self.queue_mut(at);
        queue.requeue_delayed(entities, id, tick_ns);
    }

    /// Makes a task that runs on its CPU without having been picked the current one of all its queues.
    pub(super) fn adopt_running(&mut self, task: TaskId) {
        let mut id = EntityId::from(task);
        loop {
            let at = self.fair.entities[id].queue;
            let (queue, entities) = self.queue_mut(at);
            queue.adopt(entities, id);
            let Some(slot) = at.group() else { return };
            id = slot.entity();
        }
    }

    /// Stops the entities that run on `c`, from the first level at which the next task's group differs. Groups that
    /// contain both tasks keep running (`pick_next_task_fair()`).
    pub(super) fn put_queues(&mut self, c: CpuId, next: Option<TaskId>) {
        let mut at = QueueId::root(c);
        let mut is_common = next.is_some();
        while let Some(id) = self.queue_at(at).curr() {
            is_common = is_common && id.slot().is_some() && next.is_some_and(|next| self.is_above(id, next));
            if !is_common {
                self.update_load(at, id);
                let (queue, entities) = self.queue_mut(at);
                queue.put_prev(entities);
            }
            let Some(below) = self.queue_below(id) else { return };
            at = below;
        }
    }

    /// Returns whether the group contains the task, on the task's CPU.
    fn is_above(&self, group: EntityId, task: TaskId) -> bool {
        self.groups_above(self.fair.entities[task].queue).any(|slot| slot.entity() == group)
    }

    /// Starts running a task, and each group above it that is not running yet.
    pub(super) fn set_queues(&mut self, task: TaskId) {
        let mut id = EntityId::from(task);
        loop {
            let at = self.fair.entities[id].queue;
            if self.queue_at(at).curr() != Some(id) {
                self.stop_preferring(id);
                self.update_load(at, id);
                let (queue, entities) = self.queue_mut(at);
                queue.set_next(entities, id);
            }
            let Some(slot) = at.group() else { return };
            id = slot.entity();
        }
    }

    /// Returns the entities through which two tasks of one CPU compete in the same queue, and that queue
    /// (`find_matching_se()`).
    pub(super) fn matching(&self, one: TaskId, other: TaskId) -> (EntityId, EntityId, QueueId) {
        let (mut one, mut other) = (EntityId::from(one), EntityId::from(other));
        loop {
            let [at, beside] = [one, other].map(|id| self.fair.entities[id].queue);
            let (Some(slot), Some(slot_beside)) = (at.group(), beside.group()) else {
                return self.matching_at_root(one, other);
            };
            if at == beside {
                return (one, other, at);
            }
            let [depth, depth_beside] = [at, beside].map(|at| self.depth(at));
            if depth >= depth_beside {
                one = slot.entity();
            }
            if depth_beside >= depth {
                other = slot_beside.entity();
            }
        }
    }

    /// Like [`Kernel::matching`], if one of them is in the root queue.
    fn matching_at_root(&self, one: EntityId, other: EntityId) -> (EntityId, EntityId, QueueId) {
        let top =
            |id: EntityId| self.groups_above(self.fair.entities[id].queue).last().map_or(id, Slot::entity);
        let (one, other) = (top(one), top(other));
        (one, other, self.fair.entities[one].queue)
    }

    fn depth(&self, at: QueueId) -> u32 {
        at.group().map_or(0, |slot| self.fair.groups.depth_of(slot))
    }
}
