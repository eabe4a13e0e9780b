//! Tracks the recent load of tasks and runqueues, and updates it as tasks come, go, run and move (`update_load_avg()`).
//!
//! A sleeping task still counts on the CPU where it last ran, and its part decays. If it moves, its load is removed
//! when the queue that it left is next updated, because that queue's lock is not held during the move
//! (`remove_entity_load_avg()`).

use crate::state::fair::ids::{EntityId, QueueId, Slot};
use crate::state::fair::load::QueueLoad;
use crate::state::fair::pelt::{Average, Doing, ONE};
use crate::state::fair::pelt_clock::QueueClock;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Returns the clock that loads on `rq` are measured by (`rq_clock_pelt()`), in nanoseconds.
    pub(crate) fn pelt_now(&mut self, rq: CpuId) -> u64 {
        let at = self.cpus.this_cpu.clock;
        let is_idle = self.cpus[rq].is_idle();
        let (capacity, performance) = (self.capacity(rq), self.performance(rq));
        let clock = &mut self.fair.loads[rq.index()].clock;
        clock.advance(at.as_ns(), is_idle, capacity, performance);
        clock.now_ns()
    }

    /// Returns the clock that a queue's load is measured by (`cfs_rq_clock_pelt()`), in nanoseconds.
    fn queue_now(&mut self, at: QueueId) -> u64 {
        let cpu_ns = self.pelt_now(at.cpu);
        match at.group() {
            None => cpu_ns,
            Some(slot) => self.fair.groups.slots[slot.index()].clock.now_ns(cpu_ns),
        }
    }

    /// Stops the clock of a throttled group's queue once it is empty: its load then stays the same and needs no
    /// updates.
    pub(super) fn stop_clock(&mut self, slot: Slot) {
        let below = &self.fair.groups.slots[slot.index()];
        if below.local.throttles() == 0 || below.queue.entities() > 0 {
            return;
        }
        let cpu_ns = self.pelt_now(below.cpu);
        self.fair.groups.slots[slot.index()].clock.stop(cpu_ns);
        self.fair.groups.unlist(slot);
    }

    /// Restarts the clock after the group got runtime, or a task in spite of being throttled.
    pub(super) fn restart_clock(&mut self, slot: Slot) {
        let cpu_ns = self.pelt_now(self.fair.groups.slots[slot.index()].cpu);
        let below = &mut self.fair.groups.slots[slot.index()];
        below.clock.go_on(cpu_ns);
        if below.queue.entities() > 0 || !below.load.avg.is_over() {
            self.fair.groups.list(slot);
        }
    }

    /// Returns a queue's load.
    pub(super) fn load_mut(&mut self, at: QueueId) -> &mut QueueLoad {
        match at.group() {
            None => &mut self.fair.loads[at.cpu.index()].queue,
            Some(slot) => &mut self.fair.groups.slots[slot.index()].load,
        }
    }

    /// Updates the load of all queues of a CPU (`sched_balance_update_blocked_averages()`).
    pub(crate) fn update_queue_load(&mut self, rq: CpuId) {
        if !self.fair.groups.is_flat() {
            self.update_groups_on(rq);
        }
        let now = self.pelt_now(rq);
        self.count_queue(QueueId::root(rq), now);
        self.count_rt(rq);
    }

    /// Updates the load of the groups' queues on a CPU, deeper groups first (`__update_blocked_fair()`).
    fn update_groups_on(&mut self, rq: CpuId) {
        for slot in self.fair.groups.listed[rq.index()].clone() {
            let at = QueueId { cpu: rq, slot };
            let now = self.queue_now(at);
            self.count_queue(at, now);
            self.contribute(slot);
            let id = slot.entity();
            let at = self.fair.entities[id].queue;
            self.update_load(at, id);
            let below = &self.fair.groups.slots[slot.index()];
            if below.queue.entities() == 0 && below.load.avg.is_over() {
                self.fair.groups.unlist(slot);
            }
        }
    }

    /// Updates a queue's load (`update_cfs_rq_load_avg()`).
    fn count_queue(&mut self, at: QueueId, now: u64) {
        let queue = self.queue_at(at);
        let doing = Doing {
            weight: queue.weight(&self.fair.entities).unsigned_abs(),
            runnable: u64::from(queue.len()),
            is_running: queue.curr().is_some(),
        };
        let load = self.load_mut(at);
        let [weight, runnable, util] = std::mem::take(&mut load.gone);
        if runnable > 0 && at.group().is_some() {
            let sum = runnable * load.avg.divider() / ONE;
            load.note_change(-(sum as i64));
        }
        load.avg.take(weight, runnable, util);
        if load.avg.count(now, doing) {
            load.avg.average(1);
            self.util_changed(at);
        }
    }

    /// When a queue's utilization has changed: updates the frequency if it is the CPU's (`cfs_rq_util_change()`).
    fn util_changed(&mut self, at: QueueId) {
        if at.group().is_none() {
            self.govern(at.cpu);
        }
    }

    /// Updates the load of a queue and of one of its entities (`update_load_avg()`).
    pub(crate) fn update_load(&mut self, at: QueueId, id: EntityId) {
        let now = self.queue_now(at);
        let is_running = self.queue_at(at).curr() == Some(id);
        if self.fair.entities[id].load.queue == Some(at) {
            self.update_entity_load(id, now, is_running);
        }
        self.count_queue(at, now);
        if let Some(slot) = id.slot() {
            self.propagate(id, slot);
        }
        if let Some(slot) = at.group() {
            self.contribute(slot);
        }
    }

    /// `__update_load_avg_se()`.
    fn update_entity_load(&mut self, id: EntityId, now: u64, is_running: bool) {
        let below = self.queue_below(id).map(|below| self.queue_at(below).len());
        let entity = &mut self.fair.entities[id];
        let runnable = below.map_or(u64::from(entity.on_rq && !entity.delayed), u64::from);
        let doing = Doing { weight: u64::from(entity.on_rq), runnable, is_running };
        if entity.load.avg.count(now, doing) {
            entity.load.avg.average(entity.weight.unsigned_abs());
        }
    }

    /// Adds the load of a task that is about to join a queue, unless the queue already contains it.
    pub(super) fn load_joins(&mut self, at: QueueId, task: TaskId, weight: i64) {
        let before = self.fair.entity(task).load.queue;
        if before == Some(at) {
            return self.update_load(at, task.into());
        }
        self.remove_load(task);
        let now = self.queue_now(at);
        self.count_queue(at, now);
        let capacity = self.capacity(at.cpu);
        let mut entity = self.fair.entities[task];
        let load = self.load_mut(at);
        let queue = &mut load.avg;
        entity.weight = weight;
        let weight = weight.unsigned_abs();
        if !entity.load.is_known {
            entity.load.is_known = true;
            entity.load.avg = first(queue, weight, capacity);
        }
        entity.load.avg.settle_in(queue, weight);
        entity.load.queue = Some(at);
        queue.add(&entity.load.avg, weight);
        if let Some(slot) = at.group() {
            load.note_change(entity.load.avg.load_sum as i64);
            self.contribute(slot);
        }
        self.fair.entities[task] = entity;
        self.util_changed(at);
    }

    /// Attaches a group's entity to its parent's queue, with no load yet (`attach_entity_cfs_rq()`).
    pub(super) fn attach_group(&mut self, slot: Slot) {
        let id = slot.entity();
        let at = self.fair.entities[id].queue;
        let cpu_ns = self.pelt_now(at.cpu);
        let now = self.queue_now(at);
        self.count_queue(at, now);
        let above = self.load_mut(at).avg;
        let load = &mut self.fair.entities[id].load;
        load.avg.settle_in(&above, 1);
        load.queue = Some(at);
        let avg = load.avg;
        let below = &mut self.fair.groups.slots[slot.index()];
        below.clock = QueueClock::new(cpu_ns, below.local.throttles() > 0);
        let lost_ns = cpu_ns - now;
        (below.load.avg.last_ns, below.load.avg.begun) = (avg.last_ns + lost_ns, avg.begun);
    }

    /// Removes the load of a task that is in no queue, and that moves, dies or changes its class
    /// (`remove_entity_load_avg()`).
    pub(crate) fn remove_load(&mut self, task: TaskId) {
        let Some(at) = self.fair.entities.get(task).and_then(|entity| entity.load.queue) else {
            return;
        };
        let last_ns = self.load_mut(at).avg.last_ns;
        self.update_entity_load(task.into(), last_ns, false);
        let load = &mut self.fair.entities[task].load;
        load.queue = None;
        let parts = [load.avg.load, load.avg.runnable, load.avg.util];
        for (sum, of_task) in self.load_mut(at).gone.iter_mut().zip(parts) {
            *sum += of_task;
        }
    }

    /// Brings a sleeping task's load up to its queue's last update (`sync_entity_load_avg()`).
    pub(super) fn sync_load(&mut self, task: TaskId) {
        if let Some(at) = self.fair.entities.get(task).and_then(|entity| entity.load.queue) {
            let last_ns = self.load_mut(at).avg.last_ns;
            self.update_entity_load(task.into(), last_ns, false);
        }
    }

    /// Like [`Kernel::remove_load`], but at once, because the queue is locked (`detach_entity_load_avg()`).
    pub(crate) fn detach_load(&mut self, task: TaskId) {
        let queue = self.fair.entities[task].load.queue;
        self.remove_load(task);
        if let Some(at) = queue {
            let now = self.queue_now(at);
            self.count_queue(at, now);
        }
    }

    /// Changes an entity's weight (`reweight_entity()`).
    pub(super) fn reweight_load(&mut self, id: EntityId, old_weight: i64, weight: i64) {
        let entity = &mut self.fair.entities[id];
        entity.weight = weight;
        let before = entity.load;
        let Some(at) = before.queue else { return };
        let (old_weight, weight) = (old_weight.unsigned_abs(), weight.unsigned_abs());
        entity.load.avg.load = weight * before.avg.load_sum / before.avg.divider();
        let now = entity.load.avg;
        let queue = &mut self.load_mut(at).avg;
        queue.load = queue.load.saturating_sub(before.avg.load) + now.load;
        queue.load_sum =
            queue.load_sum.saturating_sub(old_weight * before.avg.load_sum) + weight * now.load_sum;
    }

    /// Adds a task's estimate when it becomes runnable on `rq` (`util_est_enqueue()`). The next function removes and
    /// updates it (`util_est_dequeue()`, `util_est_update()`).
    pub(super) fn estimate_joins(&mut self, rq: CpuId, task: TaskId) {
        let estimate = self.fair.entities[task].load.estimate;
        self.fair.loads[rq.index()].estimate += estimate;
    }

    pub(crate) fn estimate_leaves(&mut self, rq: CpuId, task: TaskId, sleeps: bool) {
        let capacity = self.capacity(rq);
        let load = &mut self.fair.entities[task].load;
        let sum = &mut self.fair.loads[rq.index()].estimate;
        *sum = sum.saturating_sub(load.estimate);
        if sleeps {
            load.estimate(capacity);
        }
    }

    /// `cpu_load()`.
    pub(super) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.fair.loads[cpu.index()].queue.avg.load
    }

    /// `cpu_util_cfs()`.
    pub(super) fn cpu_util(&self, cpu: CpuId) -> u64 {
        let load = &self.fair.loads[cpu.index()];
        load.queue.avg.util.max(load.estimate).min(self.capacity(cpu))
    }

    /// `cpu_util_cfs_boost()`: a CPU on which tasks wait is busier than its utilization shows.
    pub(crate) fn cpu_util_boosted(&self, cpu: CpuId) -> u64 {
        let load = &self.fair.loads[cpu.index()];
        load.queue.avg.util.max(load.queue.avg.runnable).max(load.estimate).min(self.capacity(cpu))
    }

    /// Returns how much a task adds to its CPU's load: its share of its group's load, and so on upwards
    /// (`task_h_load()`).
    pub(super) fn task_load(&self, task: TaskId) -> u64 {
        let Some(entity) = self.fair.entities.get(task) else { return 0 };
        let (mut load, mut at) = (entity.load.avg.load, entity.load.queue);
        while let Some(slot) = at.and_then(QueueId::group) {
            let (group, below) = (&self.fair.entities[slot.entity()], &self.fair.groups.slots[slot.index()]);
            load = load * group.load.avg.load / (below.load.avg.load + 1);
            at = Some(group.queue);
        }
        load
    }

    /// Returns the CPU's load, runnable average and utilization without this task (`cpu_load_without()` and similar
    /// functions).
    pub(super) fn cpu_without(&self, cpu: CpuId, task: TaskId) -> (u64, u64, u64) {
        let all = &self.fair.loads[cpu.index()];
        let avg = &all.queue.avg;
        let is_here = |queue: Option<QueueId>| queue.is_some_and(|queue| queue.cpu == cpu);
        let Some(own) = self.fair.entities.get(task).filter(|entity| is_here(entity.load.queue)) else {
            return (avg.load, avg.runnable, self.cpu_util(cpu));
        };
        let estimate = if own.on_rq { all.estimate.saturating_sub(own.load.estimate) } else { all.estimate };
        let (own, load) = (&own.load.avg, self.task_load(task));
        let util = avg.util.saturating_sub(own.util).max(estimate).min(self.capacity(cpu));
        (avg.load.saturating_sub(load), avg.runnable.saturating_sub(own.runnable), util)
    }
}

/// Returns the average that a new task starts with: the load of its full weight, and half of the utilization that is
/// left (`init_entity_runnable_average()`, `post_init_entity_util_avg()`).
fn first(queue: &Average, weight: u64, capacity: u64) -> Average {
    let most = capacity.saturating_sub(queue.util) / 2;
    let util = match queue.util {
        0 => most,
        util => (util * weight / (queue.load + 1)).min(most),
    };
    Average { load: weight, runnable: util, util, ..Average::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::fair::load::TaskLoad;

    /// `util_est_update()`.
    #[test]
    fn an_estimate_rises_at_once_and_falls_slowly() {
        let check = |estimate, util, runnable, expected| {
            let mut load = TaskLoad { estimate, ..TaskLoad::default() };
            (load.avg.util, load.avg.runnable) = (util, runnable);
            load.estimate(1024);
            assert_eq!(load.estimate, expected, "{util} after {estimate}");
        };
        check(100, 300, 300, 300);
        check(300, 100, 100, 250);
        check(300, 295, 295, 300);
        // It had to wait, so its utilization says little.
        check(300, 100, 200, 300);
    }

    /// `post_init_entity_util_avg()`.
    #[test]
    fn a_new_task_gets_half_of_what_is_left() {
        let check = |util, load, weight, expected| {
            let queue = Average { util, load, ..Average::default() };
            let new = first(&queue, weight, 1024);
            assert_eq!((new.load, new.util, new.runnable), (weight, expected, expected), "{util} {load}");
        };
        check(0, 0, 1024, 512);
        check(512, 1023, 1024, 256);
        check(200, 1023, 512, 100);
        check(1024, 1024, 1024, 0);
    }
}
