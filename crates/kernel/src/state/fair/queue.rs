//! A queue of tasks and groups that compete for a CPU (`struct cfs_rq`): the waiting ones in order of deadline, and the
//! running one.
//!
//! The queue's virtual time is the mean of its entities' virtual runtimes, weighted by their weights. Entities that are
//! not ahead of it are eligible, and the eligible one with the earliest deadline is picked (`pick_eevdf()`).

use crate::state::fair::entity::{Entities, Entity};
use crate::state::fair::ids::EntityId;
use crate::state::fair::slices::Slices;
use crate::state::fair::timeline::Timeline;
use crate::state::fair::weight::scaled;

/// The entities, and the sums from which their mean is computed. The sums don't include the running entity.
#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    pub(crate) waiting: Timeline,
    /// The running entity, which is still in the queue or is just leaving it (`cfs_rq->curr`).
    pub(crate) curr: Option<EntityId>,
    /// The entity that is picked next if it is eligible (`cfs_rq->next`).
    pub(crate) preferred: Option<EntityId>,
    /// The sum of the weights (`sum_weight`).
    weight: i64,
    /// The sum of the weights times the virtual runtimes (`sum_w_vruntime`).
    weighted: i128,
    /// The virtual time when the queue last had a task (`zero_vruntime`).
    last: i64,
    /// The slices that its entities request.
    slices: Slices,
    /// The number of entities in it (`nr_queued`).
    pub(crate) entities: u32,
    /// The tasks in it and in the groups below it.
    tasks: Counts,
    /// In a root queue: the number of the CPU's tasks that are in no queue because their group has used up its
    /// `cpu.max`.
    limbo: u32,
    /// How many times an entity has begun to wait.
    turns: u64,
}

/// The numbers of tasks in a queue and in the groups below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// All tasks, including sleeping ones (`h_nr_queued`).
    pub(crate) queued: u32,
    /// Sleeping tasks (`h_nr_queued - h_nr_runnable`).
    pub(crate) delayed: u32,
    /// Tasks that are SCHED_IDLE, or in a group that is (`h_nr_idle`).
    pub(crate) idle: u32,
}

impl Counts {
    /// Counts one runnable task.
    pub(crate) fn one(is_idle: bool) -> Self {
        Self { queued: 1, delayed: 0, idle: u32::from(is_idle) }
    }
}

/// How an entity joins a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joins {
    /// It is new, and begins with half a slice (`ENQUEUE_INITIAL`).
    New,
    /// It has slept, or comes from another queue.
    Restart,
}

/// What an entity brings to a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) weight: i64,
    pub(crate) slice_ns: u64,
    pub(crate) is_idle: bool,
}

/// Which entity a pick chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The running one while its slice is protected, or else the next one.
    Protecting,
    /// The next one, regardless of protection (`PREEMPT_WAKEUP_SHORT`).
    Plain,
}

impl FairQueue {
    /// Returns whether it has no runnable tasks.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of runnable tasks (`h_nr_runnable`).
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.tasks.queued - self.tasks.delayed
    }

    /// Returns the number of tasks, including sleeping ones (`h_nr_queued`).
    #[inline]
    pub(crate) fn queued(&self) -> u32 {
        self.tasks.queued
    }

    /// Returns the numbers of tasks in it and in the groups below it.
    pub(crate) fn tasks(&self) -> Counts {
        self.tasks
    }

    /// Returns the number of tasks and groups in it, not counting the contents of groups (`nr_queued`).
    #[inline]
    pub(crate) fn entities(&self) -> u32 {
        self.entities
    }

    /// Returns the number of the CPU's tasks that wait because their group has used up its `cpu.max`.
    #[inline]
    pub(crate) fn limbo(&self) -> u32 {
        self.limbo
    }

    /// Adds `by` to that number.
    pub(crate) fn wait_for_time(&mut self, by: i32) {
        self.limbo = self.limbo.saturating_add_signed(by);
    }

    /// Returns whether there are tasks and all of them are SCHED_IDLE (`sched_idle_rq()`).
    pub(crate) fn is_idle_only(&self) -> bool {
        self.tasks.queued > 0 && self.tasks.idle == self.tasks.queued
    }

    /// Counts tasks that have joined this queue or one below it.
    pub(crate) fn count(&mut self, come: Counts) {
        self.tasks.queued += come.queued;
        self.tasks.delayed += come.delayed;
        self.tasks.idle += come.idle;
    }

    /// Counts tasks that have left this queue or one below it.
    pub(crate) fn discount(&mut self, gone: Counts) {
        self.tasks.queued -= gone.queued;
        self.tasks.delayed -= gone.delayed;
        self.tasks.idle -= gone.idle;
    }

    /// Returns the shortest requested slice (`cfs_rq_min_slice()`), or the maximum value if there is no entity.
    pub(crate) fn shortest_slice_ns(&self) -> u64 {
        self.slices.shortest()
    }

    /// Returns the running entity (`cfs_rq->curr`).
    #[inline]
    pub(crate) fn curr(&self) -> Option<EntityId> {
        self.curr
    }

    /// Returns all entities, including the running one.
    pub(crate) fn all(&self) -> impl Iterator<Item = EntityId> {
        let curr = self.curr.filter(|_| self.entities as usize > self.waiting.len());
        self.waiting.iter().chain(curr)
    }

    /// Makes the next pick choose this entity if it is eligible (`set_next_buddy()`).
    pub(crate) fn prefer(&mut self, id: EntityId) {
        self.preferred = Some(id);
    }

    /// Stops preferring this entity (`clear_buddies()`). Returns whether it was preferred.
    pub(crate) fn stop_preferring(&mut self, id: EntityId) -> bool {
        self.preferred.take_if(|preferred| *preferred == id).is_some()
    }

    /// Returns the sum of all weights, and the sum of the weights times the virtual runtimes.
    pub(crate) fn sums(&self, entities: &Entities) -> (i64, i128) {
        let curr = self.curr.map(|task| &entities[task]).filter(|curr| curr.on_rq);
        let curr = curr.map_or((0, 0), |curr| (curr.weight, product(curr)));
        (self.weight + curr.0, self.weighted + curr.1)
    }

    /// Returns the sum of all weights.
    pub(crate) fn weight(&self, entities: &Entities) -> i64 {
        self.sums(entities).0
    }

    /// Returns the queue's virtual time (`avg_vruntime()`), rounded down so that at least one entity is eligible.
    pub(super) fn time(&self, entities: &Entities) -> i64 {
        match self.sums(entities) {
            (0, _) => self.last,
            (weight, weighted) => weighted.div_euclid(i128::from(weight)) as i64,
        }
    }

    /// Returns whether the entity is not ahead of the queue's virtual time (`entity_eligible()`).
    pub(crate) fn is_eligible(&self, entities: &Entities, entity: &Entity) -> bool {
        let (weight, weighted) = self.sums(entities);
        i128::from(entity.vruntime) * i128::from(weight) <= weighted
    }

    /// Adds an entity (`enqueue_entity()`) with the same lag that it had when it left. The placement compensates for
    /// the shift of the queue's time by the entity's own weight (`place_entity()`).
    pub(crate) fn join(&mut self, entities: &mut Entities, task: EntityId, share: Share, joins: Joins) {
        let entity = &entities[task];
        debug_assert!(!entity.on_rq && share.weight > 0, "a task is in one queue");
        let lag = match self.weight(entities) {
            0 => 0,
            load => i128::from(entity.lag) * i128::from(load + share.weight) / i128::from(load),
        };
        let time = self.time(entities);
        let slice = scaled(share.slice_ns, share.weight);
        let entity = &mut entities[task];
        (entity.weight, entity.slice_ns, entity.is_idle) = (share.weight, share.slice_ns, share.is_idle);
        entity.on_rq = true;
        entity.vruntime = time - lag as i64;
        let ahead = match (entity.left.take(), joins) {
            (Some(left), _) => left,
            (None, Joins::New) => slice / 2,
            (None, Joins::Restart) => slice,
        };
        entity.deadline = entity.vruntime + ahead;
        self.slices.add(share.slice_ns);
        self.entities += 1;
        if self.curr != Some(task) {
            self.link(entity, task);
        }
    }

    /// Removes an entity (`dequeue_entity()`). If it goes to sleep (`slept`), its deadline is forgotten.
    pub(crate) fn leave(&mut self, entities: &mut Entities, task: EntityId, slept: bool, tick_ns: u64) {
        self.note_lag(entities, task, tick_ns);
        let entity = &mut entities[task];
        entity.left = (!slept).then_some(entity.deadline - entity.vruntime);
        if self.curr != Some(task) {
            self.unlink(entity);
        }
        self.slices.remove(entity.slice_ns);
        self.entities -= 1;
        (entity.on_rq, entity.delayed) = (false, false);
    }

    /// Called when an entity goes to sleep: while its lag is negative, it stays queued (`DELAY_DEQUEUE`). Returns
    /// whether it stays.
    pub(crate) fn try_delay(&mut self, entities: &mut Entities, task: EntityId, tick_ns: u64) -> bool {
        let entity = &entities[task];
        if entity.delayed || self.is_eligible(entities, entity) {
            return false;
        }
        self.note_lag(entities, task, tick_ns);
        entities[task].delayed = true;
        true
    }

    /// Wakes an entity that has stayed queued (`requeue_delayed_entity()`). It gains nothing from its sleep
    /// (`DELAY_ZERO`).
    pub(crate) fn requeue_delayed(&mut self, entities: &mut Entities, task: EntityId, tick_ns: u64) {
        let before = entities[task];
        let time = self.time(entities);
        self.note_lag(entities, task, tick_ns);
        entities[task].delayed = false;
        if time - entities[task].lag == before.vruntime {
            return;
        }
        let share = Share { weight: before.weight, slice_ns: before.slice_ns, is_idle: before.is_idle };
        let lag = entities[task].lag;
        self.leave(entities, task, true, tick_ns);
        entities[task].lag = lag;
        self.join(entities, task, share, Joins::Restart);
    }

    /// Stores an entity's lag, within bounds (`update_entity_lag()`, `entity_lag()`).
    fn note_lag(&mut self, entities: &mut Entities, task: EntityId, tick_ns: u64) {
        let time = self.time(entities);
        self.last = time;
        let most_ns = self.slices.longest() + tick_ns;
        let entity = &mut entities[task];
        let most = entity.scaled(most_ns);
        let lag = (time - entity.vruntime).clamp(-most, most);
        entity.lag = if entity.delayed { lag.max(entity.lag).min(0) } else { lag };
    }

    /// Charges the running entity for `ran_ns` (`update_curr()`, `update_deadline()`).
    pub(crate) fn charge(&mut self, entities: &mut Entities, task: EntityId, ran_ns: u64) {
        debug_assert_eq!(self.curr, Some(task), "only who runs is charged");
        let entity = &mut entities[task];
        entity.vruntime += entity.scaled(ran_ns);
        if entity.vruntime >= entity.deadline {
            entity.deadline = entity.vruntime + entity.scaled(entity.slice_ns);
            self.last = self.time(entities);
        }
    }

    /// Makes the running entity give up the rest of its slice (`yield_task_fair()`), unless it has already had more
    /// than its share.
    pub(crate) fn give_way(&mut self, entities: &mut Entities, task: EntityId) {
        if !self.is_eligible(entities, &entities[task]) {
            return;
        }
        let entity = &mut entities[task];
        entity.vruntime = entity.deadline;
        entity.deadline += entity.scaled(entity.slice_ns);
    }

    /// Makes an entity the running one (`set_next_entity()`). It is protected until its deadline, or for the shortest
    /// slice in the queue if that is shorter (`set_protect_slice()`).
    pub(crate) fn set_next(&mut self, entities: &mut Entities, task: EntityId) {
        let shortest = self.slices.shortest();
        let entity = &mut entities[task];
        self.unlink(entity);
        entity.protected = entity.deadline;
        if shortest < entity.slice_ns {
            entity.protected = entity.protected.min(entity.vruntime + entity.scaled(shortest));
        }
        self.curr = Some(task);
    }

    /// Shortens the protection of the running entity if an entity with a shorter slice has joined
    /// (`update_protect_slice()`).
    pub(crate) fn tighten(&self, entities: &mut Entities, task: EntityId) {
        let shortest = self.slices.shortest();
        let entity = &mut entities[task];
        entity.protected = entity.protected.min(entity.vruntime + entity.scaled(shortest));
    }

    /// Makes an entity the running one without a pick, because its task has changed its class or group while running.
    pub(crate) fn adopt(&mut self, entities: &Entities, task: EntityId) {
        if self.curr != Some(task) && entities[task].on_rq {
            self.unlink(&entities[task]);
        }
        self.curr = Some(task);
    }

    /// Changes an entity's weight (`reweight_entity()`). Its lag, the time until its deadline and the rest of its
    /// protection stay the same in CPU time.
    pub(crate) fn reweigh(&mut self, entities: &mut Entities, id: EntityId, weight: i64, tick_ns: u64) {
        let before = entities[id];
        let by_weight = |virtual_ns: i64| {
            (i128::from(virtual_ns) * i128::from(before.weight) / i128::from(weight)) as i64
        };
        if !before.on_rq {
            let entity = &mut entities[id];
            (entity.weight, entity.lag) = (weight, by_weight(before.lag));
            entity.left = before.left.map(by_weight);
            return;
        }
        let protected = before.protected - before.vruntime;
        let share = Share { weight, slice_ns: before.slice_ns, is_idle: before.is_idle };
        self.leave(entities, id, false, tick_ns);
        let entity = &mut entities[id];
        entity.lag = by_weight(entity.lag);
        entity.left = entity.left.map(by_weight);
        self.join(entities, id, share, Joins::Restart);
        let entity = &mut entities[id];
        entity.protected = entity.vruntime + by_weight(protected);
        entity.delayed = before.delayed;
    }

    /// Changes a group's slice (`se->slice`). Its deadline stays.
    pub(crate) fn set_slice(&mut self, entities: &mut Entities, id: EntityId, slice_ns: u64) {
        let before_ns = std::mem::replace(&mut entities[id].slice_ns, slice_ns);
        if before_ns != slice_ns && entities[id].on_rq {
            self.slices.remove(before_ns);
            self.slices.add(slice_ns);
        }
    }

    /// Stops the running entity (`put_prev_entity()`).
    pub(crate) fn put_prev(&mut self, entities: &mut Entities) {
        let Some(task) = self.curr.take() else { return };
        let entity = &mut entities[task];
        if entity.on_rq {
            self.link(entity, task);
        }
    }

    fn link(&mut self, entity: &mut Entity, task: EntityId) {
        self.turns += 1;
        entity.turn = self.turns;
        self.waiting.insert((entity.deadline, entity.turn), task, entity.vruntime);
        self.weight += entity.weight;
        self.weighted += product(entity);
    }

    fn unlink(&mut self, entity: &Entity) {
        self.waiting.remove((entity.deadline, entity.turn));
        self.weight -= entity.weight;
        self.weighted -= product(entity);
    }
}

fn product(entity: &Entity) -> i128 {
    i128::from(entity.weight) * i128::from(entity.vruntime)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
