//! A CPU's fair tasks (`struct cfs_rq`): those that wait, in the order of their deadlines, and the one that runs.
//!
//! The queue's virtual time is the mean of its tasks', each counted by its weight. Who is not ahead of it is
//! eligible, and of those the one with the earliest deadline is next (`pick_eevdf()`).

use super::entity::Entity;
use super::slices::Slices;
use super::weight::scaled;
use keel_abi::TaskId;
use std::collections::BTreeSet;

/// The tasks, and the sums that their mean is made of. The one that runs is in no sum.
#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    waiting: BTreeSet<(i64, u64, TaskId)>,
    /// Who runs, in the queue still or just leaving it (`cfs_rq->curr`).
    curr: Option<TaskId>,
    /// The sum of weights (`sum_weight`).
    weight: i64,
    /// The sum of weights times virtual run times (`sum_w_vruntime`).
    weighted: i128,
    /// The virtual time when there was last a task (`zero_vruntime`).
    last: i64,
    /// What its tasks ask to run for.
    slices: Slices,
    /// Its tasks, those that sleep included (`h_nr_queued`).
    queued: u32,
    /// Those of them that sleep (`h_nr_queued - h_nr_runnable`).
    delayed: u32,
    /// Those of them that are SCHED_IDLE (`h_nr_idle`).
    idle: u32,
    /// Tasks that have ever begun to wait.
    turns: u64,
}

/// How a task joins a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joins {
    /// It has just been made, and begins with half a slice (`ENQUEUE_INITIAL`).
    New,
    /// It has slept, or comes from another queue.
    Restart,
}

/// What a task brings to a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) weight: i64,
    pub(super) slice_ns: u64,
    pub(super) is_idle: bool,
}

/// Tasks that a pick may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// The one that runs, while its slice is protected.
    Protecting,
    /// Whoever is next (`PREEMPT_WAKEUP_SHORT`).
    Plain,
}

impl FairQueue {
    /// Does nobody in it want to run?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many want to run (`h_nr_runnable`).
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.queued - self.delayed
    }

    /// All in it, those that sleep included (`h_nr_queued`).
    #[inline]
    pub(crate) fn queued(&self) -> u32 {
        self.queued
    }

    /// Are all that want to run SCHED_IDLE (`sched_idle_rq()`)?
    pub(super) fn is_idle_only(&self) -> bool {
        self.queued > 0 && self.idle == self.queued
    }

    /// Who runs (`cfs_rq->curr`).
    #[inline]
    pub(crate) fn curr(&self) -> Option<TaskId> {
        self.curr
    }

    /// All in it, whoever runs among them.
    pub(super) fn all(&self) -> impl Iterator<Item = TaskId> {
        let curr = self.curr.filter(|_| self.queued as usize > self.waiting.len());
        self.waiting.iter().map(|&(_, _, task)| task).chain(curr)
    }

    /// The sum of all weights, and that of weights times virtual run times.
    fn sums(&self, entities: &[Entity]) -> (i64, i128) {
        let curr = self.curr.map(|task| &entities[task.index()]).filter(|curr| curr.on_rq);
        let curr = curr.map_or((0, 0), |curr| (curr.weight, product(curr)));
        (self.weight + curr.0, self.weighted + curr.1)
    }

    /// The sum of their weights.
    pub(super) fn weight(&self, entities: &[Entity]) -> i64 {
        self.sums(entities).0
    }

    /// The queue's virtual time (`avg_vruntime()`), rounded down so that whoever is there is eligible.
    pub(super) fn time(&self, entities: &[Entity]) -> i64 {
        match self.sums(entities) {
            (0, _) => self.last,
            (weight, weighted) => weighted.div_euclid(i128::from(weight)) as i64,
        }
    }

    /// Is it not ahead of the queue's time (`entity_eligible()`)?
    pub(super) fn is_eligible(&self, entities: &[Entity], entity: &Entity) -> bool {
        let (weight, weighted) = self.sums(entities);
        i128::from(entity.vruntime) * i128::from(weight) <= weighted
    }

    /// A task joins (`enqueue_entity()`), as far from the queue's time as it was when it left; what the queue's time will
    /// move when its weight joins is taken into account (`place_entity()`).
    pub(super) fn join(&mut self, entities: &mut [Entity], task: TaskId, share: Share, joins: Joins) {
        let entity = &entities[task.index()];
        debug_assert!(!entity.on_rq && share.weight > 0, "a task is in one queue");
        let lag = match self.weight(entities) {
            0 => 0,
            load => i128::from(entity.lag) * i128::from(load + share.weight) / i128::from(load),
        };
        let time = self.time(entities);
        let slice = scaled(share.slice_ns, share.weight);
        let entity = &mut entities[task.index()];
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
        self.queued += 1;
        self.idle += u32::from(share.is_idle);
        if self.curr != Some(task) {
            self.link(entity, task);
        }
    }

    /// A task leaves (`dequeue_entity()`). One that has `slept` forgets its deadline.
    pub(super) fn leave(&mut self, entities: &mut [Entity], task: TaskId, slept: bool, tick_ns: u64) {
        self.note_lag(entities, task, tick_ns);
        let entity = &mut entities[task.index()];
        entity.left = (!slept).then_some(entity.deadline - entity.vruntime);
        if self.curr != Some(task) {
            self.unlink(entity, task);
        }
        self.slices.remove(entity.slice_ns);
        self.queued -= 1;
        self.idle -= u32::from(entity.is_idle);
        self.delayed -= u32::from(entity.delayed);
        (entity.on_rq, entity.delayed) = (false, false);
    }

    /// A task goes to sleep: where it is owed nothing it stays until it is (`DELAY_DEQUEUE`). Says whether it stays.
    pub(super) fn stays_asleep(&mut self, entities: &mut [Entity], task: TaskId, tick_ns: u64) -> bool {
        let entity = &entities[task.index()];
        if entity.delayed || self.is_eligible(entities, entity) {
            return false;
        }
        self.note_lag(entities, task, tick_ns);
        entities[task.index()].delayed = true;
        self.delayed += 1;
        true
    }

    /// A task that has stayed wakes (`requeue_delayed_entity()`): it has lost nothing and gained nothing (`DELAY_ZERO`).
    pub(super) fn wakes(&mut self, entities: &mut [Entity], task: TaskId, tick_ns: u64) {
        let before = entities[task.index()];
        let time = self.time(entities);
        self.note_lag(entities, task, tick_ns);
        self.delayed -= 1;
        entities[task.index()].delayed = false;
        if time - entities[task.index()].lag == before.vruntime {
            return;
        }
        let share = Share { weight: before.weight, slice_ns: before.slice_ns, is_idle: before.is_idle };
        let lag = entities[task.index()].lag;
        self.leave(entities, task, true, tick_ns);
        entities[task.index()].lag = lag;
        self.join(entities, task, share, Joins::Restart);
    }

    /// What a task is owed, or owes, within bounds (`update_entity_lag()`, `entity_lag()`).
    fn note_lag(&mut self, entities: &mut [Entity], task: TaskId, tick_ns: u64) {
        let time = self.time(entities);
        self.last = time;
        let most_ns = self.slices.longest() + tick_ns;
        let entity = &mut entities[task.index()];
        let most = entity.scaled(most_ns);
        let lag = (time - entity.vruntime).clamp(-most, most);
        entity.lag = if entity.delayed { lag.max(entity.lag).min(0) } else { lag };
    }

    /// The running task has run for so long (`update_curr()`, `update_deadline()`).
    pub(super) fn ran(&mut self, entities: &mut [Entity], task: TaskId, ran_ns: u64) {
        debug_assert_eq!(self.curr, Some(task), "only who runs is charged");
        let entity = &mut entities[task.index()];
        entity.vruntime += entity.scaled(ran_ns);
        if entity.vruntime >= entity.deadline {
            entity.deadline = entity.vruntime + entity.scaled(entity.slice_ns);
            self.last = self.time(entities);
        }
    }

    /// The running task gives the rest of its slice up (`yield_task_fair()`), unless it has had more than its share anyway.
    pub(super) fn give_way(&mut self, entities: &mut [Entity], task: TaskId) {
        if !self.is_eligible(entities, &entities[task.index()]) {
            return;
        }
        let entity = &mut entities[task.index()];
        entity.vruntime = entity.deadline;
        entity.deadline += entity.scaled(entity.slice_ns);
    }

    /// Who is next (`pick_eevdf()`); it may be one that sleeps.
    pub(super) fn pick(&self, entities: &[Entity], pick: Pick) -> Option<TaskId> {
        let curr = self.curr.filter(|task| entities[task.index()].on_rq);
        if self.queued == 1 {
            return curr.or_else(|| self.waiting.first().map(|&(_, _, task)| task));
        }
        let is_eligible = |task: &TaskId| self.is_eligible(entities, &entities[task.index()]);
        let curr = curr.filter(is_eligible);
        if pick == Pick::Protecting
            && let Some(task) = curr.filter(|task| entities[task.index()].is_protected())
        {
            return Some(task);
        }
        let best = self.waiting.iter().map(|&(_, _, task)| task).find(is_eligible);
        let deadline = |task: TaskId| entities[task.index()].deadline;
        match (best, curr) {
            (Some(best), Some(curr)) if deadline(curr) < deadline(best) => Some(curr),
            (best, curr) => best.or(curr),
        }
    }

    /// A task begins to run (`set_next_entity()`): until its deadline, or for the shortest slice in the queue where that is
    /// shorter, it is protected (`set_protect_slice()`).
    pub(super) fn set_next(&mut self, entities: &mut [Entity], task: TaskId) {
        let shortest = self.slices.shortest();
        let entity = &mut entities[task.index()];
        self.unlink(entity, task);
        entity.protected = entity.deadline;
        if shortest < entity.slice_ns {
            entity.protected = entity.protected.min(entity.vruntime + entity.scaled(shortest));
        }
        self.curr = Some(task);
    }

    /// A task that has come while the one that runs goes on may have a shorter slice (`update_protect_slice()`).
    pub(super) fn tighten(&self, entities: &mut [Entity], task: TaskId) {
        let shortest = self.slices.shortest();
        let entity = &mut entities[task.index()];
        entity.protected = entity.protected.min(entity.vruntime + entity.scaled(shortest));
    }

    /// Whoever runs here is this queue's without having been picked: it has changed its class.
    pub(super) fn adopt(&mut self, task: TaskId) {
        self.curr = Some(task);
    }

    /// Whoever runs stops to (`put_prev_entity()`).
    pub(super) fn put_prev(&mut self, entities: &mut [Entity]) {
        let Some(task) = self.curr.take() else { return };
        let entity = &mut entities[task.index()];
        if entity.on_rq {
            self.link(entity, task);
        }
    }

    fn link(&mut self, entity: &mut Entity, task: TaskId) {
        self.turns += 1;
        entity.turn = self.turns;
        self.waiting.insert((entity.deadline, entity.turn, task));
        self.weight += entity.weight;
        self.weighted += product(entity);
    }

    fn unlink(&mut self, entity: &Entity, task: TaskId) {
        self.waiting.remove(&(entity.deadline, entity.turn, task));
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
