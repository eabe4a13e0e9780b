//! Computes a group's weight on each CPU: its weight on the whole machine is divided among the CPUs by the load that it
//! has there (`update_cfs_group()`).

use crate::rules::fair::propagate::follow;
use crate::state::fair::ids::{EntityId, GroupId, Slot};
use crate::state::fair::weight::LEAST_WEIGHT;
use crate::state::kernel::Kernel;

/// The minimum time between updates of a queue's part of its group's load, in nanoseconds (`update_tg_load_avg()`).
const CONTRIBUTION_NS: u64 = 1_000_000;

/// Returns a group's weight on a CPU (`calc_group_shares()`). On the whole machine, the group has the weight `shares`
/// and the load `all`. This CPU has contributed `own` to that load, and its load is now `load`.
fn share(shares: i64, load: u64, all: u64, own: u64) -> i64 {
    let all = all.saturating_sub(own) + load;
    let weight = match all {
        0 => shares,
        all => (i128::from(shares) * i128::from(load) / i128::from(all)) as i64,
    };
    weight.clamp(LEAST_WEIGHT, shares.max(LEAST_WEIGHT))
}

impl Kernel {
    /// Updates a group's entity: its load, what it takes over from the queue below, and its weight.
    pub(super) fn update_entity(&mut self, id: EntityId) {
        let at = self.fair.entities[id].queue;
        self.update_load(at, id);
        self.reweigh_group(id);
        let c = self.cpus.this_id();
        self.charge_visit(c, crate::rules::fair::cost::Visit::Average);
    }

    /// Sets a group's weight by its load on the CPU (`update_cfs_group()`). A group without load keeps its weight.
    fn reweigh_group(&mut self, id: EntityId) {
        let Some(slot) = id.slot() else { return };
        let below = &self.fair.groups.slots[slot.index()];
        let weight = below.queue.weight(&self.fair.entities).unsigned_abs();
        if weight == 0 {
            return;
        }
        let group = &self.fair.groups.all[below.group.index()];
        let load = weight.max(below.load.avg.load);
        let weight = share(group.shares, load, group.load, below.contribution);
        self.reweight_entity(id, weight);
    }

    /// `reweight_entity()`.
    fn reweight_entity(&mut self, id: EntityId, weight: i64) {
        let before = self.fair.entities[id].weight;
        if before == weight {
            return;
        }
        let (at, tick_ns) = (self.fair.entities[id].queue, self.tick.as_ns());
        let (queue, entities) = self.queue_mut(at);
        queue.reweigh(entities, id, weight, tick_ns);
        self.reweight_load(id, before, weight);
    }

    /// Updates the group's load on the whole machine after a queue's load has changed, if that is due
    /// (`update_tg_load_avg()`).
    pub(super) fn contribute(&mut self, slot: Slot) {
        let now_ns = self.cpus.this_cpu.clock.as_ns();
        let below = &mut self.fair.groups.slots[slot.index()];
        if !self.cpus[below.cpu].online || now_ns.saturating_sub(below.contributed_ns) < CONTRIBUTION_NS {
            return;
        }
        let load = below.load.avg.load;
        if load.abs_diff(below.contribution) > below.contribution / 64 {
            let group = &mut self.fair.groups.all[below.group.index()].load;
            *group = (*group + load).saturating_sub(below.contribution);
            (below.contribution, below.contributed_ns) = (load, now_ns);
        }
    }

    /// Removes an offline CPU's part from the load of all groups (`clear_tg_offline_cfs_rqs()`).
    pub(super) fn withdraw_contributions(&mut self, cpu: keel_abi::CpuId) {
        for below in self.fair.groups.slots.iter_mut().filter(|below| below.cpu == cpu) {
            let group = &mut self.fair.groups.all[below.group.index()].load;
            *group = group.saturating_sub(std::mem::take(&mut below.contribution));
        }
    }

    /// Changes an entity's load after a task has joined or left the queue below it (`propagate_entity_load_avg()`).
    pub(super) fn propagate(&mut self, id: EntityId, slot: Slot) {
        let below = &mut self.fair.groups.slots[slot.index()];
        let Some(changed) = below.load.changed.take() else { return };
        let (avg, weight) = (below.load.avg, below.queue.weight(&self.fair.entities).unsigned_abs());
        let at = self.fair.entities[id].queue;
        let mut entity = self.fair.entities[id];
        let above = self.load_mut(at);
        above.note_change(changed);
        follow(&mut entity.load.avg, entity.weight.unsigned_abs(), &mut above.avg, (&avg, weight), changed);
        self.fair.entities[id].load = entity.load;
    }

    /// Sets a group's weight, after a change of `cpu.weight` or `cpu.idle` (`sched_group_set_shares()`,
    /// `sched_group_set_idle()`).
    pub(super) fn set_group_weight(&mut self, group: GroupId, shares: i64, is_idle: bool) {
        let settings = &mut self.fair.groups.all[group.index()];
        settings.shares = shares;
        let was_idle = std::mem::replace(&mut settings.is_idle, is_idle);
        for slot in self.fair.groups.slots_of(group) {
            let cpu = self.fair.groups.slots[slot.index()].cpu;
            self.charge_fair_curr(cpu);
            let id = slot.entity();
            self.fair.entities[id].is_idle = is_idle;
            if was_idle != is_idle {
                self.count_idle(slot, is_idle);
            }
            let mut id = Some(id);
            while let Some(entity) = id {
                self.update_entity(entity);
                id = self.fair.entities[entity].queue.group().map(Slot::entity);
            }
        }
    }

    /// Makes a group's tasks start or stop counting as SCHED_IDLE, in each queue above up to a group that is itself
    /// idle.
    fn count_idle(&mut self, slot: Slot, is_idle: bool) {
        let tasks = self.fair.groups.slots[slot.index()].queue.tasks();
        let others =
            crate::state::fair::queue::Counts { idle: tasks.queued - tasks.idle, ..Default::default() };
        let mut id = slot.entity();
        while self.fair.entities[id].on_rq {
            let at = self.fair.entities[id].queue;
            let (queue, _) = self.queue_mut(at);
            match is_idle {
                true => queue.count(others),
                false => queue.discount(others),
            }
            let Some(above) = at.group() else { return };
            id = above.entity();
            if self.fair.entities[id].is_idle {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `calc_group_shares()`.
    #[test]
    fn a_group_weighs_by_its_part_of_its_load() {
        let check = |shares, load, all, own, expected| {
            assert_eq!(share(shares, load, all, own), expected, "{load} of {all}, {own} counted");
        };
        check(1024, 1024, 0, 0, 1024);
        check(1024, 1024, 2048, 1024, 512);
        // It has joined this CPU since its load was last updated.
        check(1024, 1024, 1024, 0, 512);
        check(2048, 300, 1200, 300, 512);
        check(1024, 1, 1 << 20, 1, 2);
        check(1024, 0, 0, 0, 1024);
    }
}
