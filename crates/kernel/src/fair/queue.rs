//! A CPU's runnable fair tasks, the running one included (`struct cfs_rq`), in the order of their deadlines.
//!
//! The queue's virtual time is the mean of its tasks', each counted by its weight. Who is not ahead of it is
//! eligible, and of those the one with the earliest deadline is next (`__pick_eevdf()`).

use super::entity::{Entity, scaled};
use keel_abi::TaskId;
use std::collections::BTreeSet;

/// The tasks, and the sums that their mean is made of.
#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    order: BTreeSet<(i64, TaskId)>,
    /// The sum of weights.
    weight: i64,
    /// The sum of weights times virtual run times.
    weighted: i128,
    /// The virtual time when there was last a task.
    last: i64,
}

/// How a task joins a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joins {
    /// It has just been made, and begins with half a slice (`ENQUEUE_INITIAL`).
    New,
    /// It has slept, or comes from another queue.
    Restart,
}

impl FairQueue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.order.len() as u32
    }

    /// The sum of their weights.
    pub(super) fn weight(&self) -> i64 {
        self.weight
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.order.iter().map(|&(_, task)| task)
    }

    /// The queue's virtual time (`avg_vruntime()`).
    pub(super) fn now(&self) -> i64 {
        match self.weight {
            0 => self.last,
            weight => self.weighted.div_euclid(i128::from(weight)) as i64,
        }
    }

    /// `place_entity()`: as far from the queue's time as it was when it left, so that sleep is no gain; what the queue's
    /// time will move when its weight joins is taken into account.
    pub(super) fn join(
        &mut self,
        task: TaskId,
        entity: &mut Entity,
        weight: i64,
        joins: Joins,
        slice_ns: u64,
    ) {
        debug_assert!(!entity.is_queued() && weight > 0, "a task is in one queue");
        let lag = match self.weight {
            0 => 0,
            load => (i128::from(entity.lag) * i128::from(load + weight)).div_euclid(i128::from(load)) as i64,
        };
        entity.weight = weight;
        entity.vruntime = self.now() - lag;
        let slice = scaled(slice_ns, weight);
        let ahead = match (entity.left.take(), joins) {
            (Some(left), _) => left,
            (None, Joins::New) => slice / 2,
            (None, Joins::Restart) => slice,
        };
        entity.deadline = entity.vruntime + ahead;
        entity.protected = entity.vruntime;
        self.link(task, entity);
    }

    /// It leaves (`update_entity_lag()`): what it is owed, or owes, is bounded by `most_ns` of its own time.
    pub(super) fn leave(&mut self, task: TaskId, entity: &mut Entity, slept: bool, most_ns: u64) {
        let most = entity.scaled(most_ns);
        entity.lag = (self.now() - entity.vruntime).clamp(-most, most);
        entity.left = (!slept).then_some(entity.deadline - entity.vruntime);
        self.unlink(task, entity);
        entity.weight = 0;
    }

    /// It has run for so long (`update_curr()`, `update_deadline()`).
    pub(super) fn ran(&mut self, task: TaskId, entity: &mut Entity, ran_ns: u64, slice_ns: u64) {
        self.unlink(task, entity);
        entity.vruntime += entity.scaled(ran_ns);
        if entity.vruntime >= entity.deadline {
            entity.deadline = entity.vruntime + entity.scaled(slice_ns);
        }
        self.link(task, entity);
    }

    /// It gives the rest of its slice up (`yield_task_fair()`), unless it has had more than its share anyway.
    pub(super) fn give_way(&mut self, task: TaskId, entity: &mut Entity, slice_ns: u64) {
        if !self.is_eligible(entity) {
            return;
        }
        self.unlink(task, entity);
        entity.vruntime = entity.deadline;
        entity.deadline += entity.scaled(slice_ns);
        self.link(task, entity);
    }

    /// Who is next (`__pick_eevdf()`). The running one, where it is still protected and eligible.
    pub(super) fn pick(&self, entities: &[Entity], running: Option<TaskId>) -> Option<TaskId> {
        if let Some(task) = running {
            let entity = &entities[task.index()];
            if entity.is_queued() && self.is_eligible(entity) && entity.protected > entity.vruntime {
                return Some(task);
            }
        }
        let mut in_order = self.tasks();
        in_order.find(|&task| self.is_eligible(&entities[task.index()]))
    }

    /// Is it not ahead of the queue's time (`entity_eligible()`)?
    fn is_eligible(&self, entity: &Entity) -> bool {
        i128::from(entity.vruntime) * i128::from(self.weight) <= self.weighted
    }

    fn link(&mut self, task: TaskId, entity: &Entity) {
        self.order.insert((entity.deadline, task));
        self.weight += entity.weight;
        self.weighted += i128::from(entity.weight) * i128::from(entity.vruntime);
    }

    fn unlink(&mut self, task: TaskId, entity: &Entity) {
        self.last = self.now();
        let was = self.order.remove(&(entity.deadline, task));
        debug_assert!(was, "it is in this queue");
        self.weight -= entity.weight;
        self.weighted -= i128::from(entity.weight) * i128::from(entity.vruntime);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
