//! Picks the next fair task (`pick_task_fair()`, `pick_eevdf()`): of the entities that are owed time, the one with the
//! earliest virtual deadline. The running one stays while its slice protects it. A group that is picked picks among its
//! own.

use crate::state::fair::entity::Entities;
use crate::state::fair::ids::{EntityId, QueueId};
use crate::state::fair::queue::{FairQueue, Pick};
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Returns the next of `c`'s fair tasks, or `None` while starved tasks of the scheduler are being served. The
    /// running task has been charged.
    pub(crate) fn next_fair(&mut self, c: CpuId) -> Option<TaskId> {
        let cpu = self.this_cpu();
        if cpu.server.is_serving() {
            return None;
        }
        if cpu.rt.is_empty() {
            cpu.fair_server.stop();
        }
        self.pick_task(c)
    }

    /// Picks from the root queue; if that gives a group, picks from the group's queue, and so on (`pick_task_fair()`).
    fn pick_task(&mut self, c: CpuId) -> Option<TaskId> {
        'again: loop {
            let mut at = QueueId::root(c);
            let mut is_throttled = false;
            loop {
                is_throttled |= at.group().is_some_and(|slot| self.is_out_of_time(slot));
                let Some(id) = self.pick_entity(at, Pick::Protecting) else {
                    // A group whose last tasks have just left.
                    at.group()?;
                    continue 'again;
                };
                match self.queue_below(id) {
                    Some(below) => at = below,
                    None => {
                        self.this_cpu().errands.set_throttles(is_throttled);
                        return id.task();
                    }
                }
            }
        }
    }

    /// Picks from one queue as `pick_eevdf()` does. A sleeping entity that would be picked has no more negative lag and
    /// leaves the queue (`pick_next_entity()`). Returns `None` if that empties the queue.
    pub(crate) fn pick_entity(&mut self, at: QueueId, pick: Pick) -> Option<EntityId> {
        loop {
            let next = self.queue_at(at).pick(&self.fair.entities, pick)?;
            if !self.fair.entities[next].delayed {
                return Some(next);
            }
            self.forget(next);
        }
    }
}

impl FairQueue {
    /// Returns the next entity (`pick_eevdf()`), which may be a sleeping one.
    pub(crate) fn pick(&self, entities: &Entities, pick: Pick) -> Option<EntityId> {
        let curr = self.curr.filter(|&curr| entities[curr].on_rq);
        if self.entities == 1 {
            return curr.or_else(|| self.waiting.first());
        }
        let (weight, weighted) = self.sums(entities);
        if weight == 0 {
            return None;
        }
        // A virtual runtime is eligible up to the mean, rounded down.
        let most = weighted.div_euclid(i128::from(weight)) as i64;
        let preferred = self.preferred.filter(|&id| entities[id].vruntime <= most);
        if pick == Pick::Protecting && preferred.is_some() {
            return preferred;
        }
        let curr = curr.filter(|&curr| entities[curr].vruntime <= most);
        if pick == Pick::Protecting
            && let Some(curr) = curr.filter(|&curr| entities[curr].is_protected())
        {
            return Some(curr);
        }
        let best = self.waiting.first_within(most);
        match (best, curr) {
            (Some(best), Some(curr)) if entities[curr].deadline < entities[best].deadline => Some(curr),
            (best, curr) => best.or(curr),
        }
    }
}
