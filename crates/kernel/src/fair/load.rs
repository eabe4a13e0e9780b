//! What tasks and runqueues weigh of late, kept as tasks come, go, run and move (`update_load_avg()`).
//!
//! A task that sleeps goes on counting where it ran last, less and less. One that goes elsewhere is taken out when the
//! queue that it left is next looked at, as its lock is not held then (`remove_entity_load_avg()`).

use super::pelt::{Average, Doing, ONE};
use super::pelt_clock::PeltClock;
use crate::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

/// A change of a task's utilization that is too small to note (`UTIL_EST_MARGIN`).
const MARGIN: u64 = ONE / 100;
/// A new estimate counts for a quarter (`UTIL_EST_WEIGHT_SHIFT`).
const ESTIMATE_SHIFT: u32 = 2;

/// What is known of a task's load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskLoad {
    pub(super) avg: Average,
    /// The queue that it counts in.
    pub(super) queue: Option<CpuId>,
    /// Its utilization when it last went to sleep, smoothed (`util_est`).
    pub(super) estimate: u64,
    /// It has been in a queue before.
    is_known: bool,
}

impl TaskLoad {
    /// Nothing.
    pub(super) const NEW: Self = Self { avg: Average::NONE, queue: None, estimate: 0, is_known: false };

    /// `task_util_est()`.
    pub(super) fn util_or_estimate(&self) -> u64 {
        self.avg.util.max(self.estimate)
    }

    /// The task goes to sleep: what it has used until now is an estimate of what it will (`util_est_update()`).
    fn estimate(&mut self, capacity: u64) {
        let (used, last) = (self.avg.util, self.estimate);
        if last <= used {
            self.estimate = used;
            return;
        }
        let less = last - used;
        // One that had to wait would have used more.
        if less < MARGIN || used > capacity || used + MARGIN < self.avg.runnable {
            return;
        }
        self.estimate = ((last << ESTIMATE_SHIFT) - less) >> ESTIMATE_SHIFT;
    }
}

/// A runqueue's load (`cfs_rq->avg`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueLoad {
    pub(super) avg: Average,
    pub(super) clock: PeltClock,
    /// Load, runnable average and utilization of tasks that have left since (`cfs_rq->removed`).
    gone: [u64; 3],
    /// The estimates of the tasks that want to run (`util_est`).
    pub(super) estimate: u64,
}

impl Kernel {
    /// The time that loads are counted in on `rq` (`rq_clock_pelt()`).
    fn pelt_now(&mut self, rq: CpuId) -> u64 {
        let at = self.cpus.this_cpu.clock;
        let is_idle = self.cpus[rq].is_idle();
        let (capacity, performance) = (self.capacity(rq), self.performance(rq));
        let clock = &mut self.fair.loads[rq.index()].clock;
        clock.advance(at.as_ns(), is_idle, capacity, performance);
        clock.now_ns()
    }

    /// Counts `rq`'s load up to now (`update_cfs_rq_load_avg()`); says whether it changed.
    pub(super) fn update_queue_load(&mut self, rq: CpuId) -> bool {
        let now = self.pelt_now(rq);
        let queue = &self.cpus[rq].fair;
        let doing = Doing {
            weight: queue.weight(&self.fair.entities).unsigned_abs(),
            runnable: u64::from(queue.len()),
            is_running: queue.curr().is_some(),
        };
        let load = &mut self.fair.loads[rq.index()];
        let [weight, runnable, util] = std::mem::take(&mut load.gone);
        load.avg.take(weight, runnable, util);
        let changed = load.avg.count(now, doing);
        if changed {
            load.avg.average(1);
        }
        changed || weight + runnable + util > 0
    }

    /// Counts `rq`'s load and that of one of its tasks up to now (`update_load_avg()`).
    pub(super) fn update_load(&mut self, rq: CpuId, task: TaskId) {
        let now = self.pelt_now(rq);
        let is_running = self.cpus[rq].fair.curr() == Some(task);
        if self.fair.entities[task.index()].load.queue == Some(rq) {
            self.update_task_load(task, now, is_running);
        }
        self.update_queue_load(rq);
    }

    /// `__update_load_avg_se()`.
    fn update_task_load(&mut self, task: TaskId, now: u64, is_running: bool) {
        let entity = &mut self.fair.entities[task.index()];
        let doing = Doing {
            weight: u64::from(entity.on_rq),
            runnable: u64::from(entity.on_rq && !entity.delayed),
            is_running,
        };
        if entity.load.avg.count(now, doing) {
            entity.load.avg.average(entity.weight.unsigned_abs());
        }
    }

    /// A task is about to join `rq`: its load does where it is not there yet.
    pub(super) fn load_joins(&mut self, rq: CpuId, task: TaskId, weight: i64) {
        let before = self.fair.entity(task).load.queue;
        if before == Some(rq) {
            return self.update_load(rq, task);
        }
        self.remove_load(task);
        self.update_queue_load(rq);
        let capacity = self.capacity(rq);
        let (entity, queue) = (&mut self.fair.entities[task.index()], &mut self.fair.loads[rq.index()].avg);
        entity.weight = weight;
        let weight = weight.unsigned_abs();
        if !entity.load.is_known {
            entity.load.is_known = true;
            entity.load.avg = first(queue, weight, capacity);
        }
        entity.load.avg.settle_in(queue, weight);
        entity.load.queue = Some(rq);
        queue.add(&entity.load.avg, weight);
    }

    /// A task that is in no queue goes elsewhere, dies or changes its class (`remove_entity_load_avg()`).
    pub(crate) fn remove_load(&mut self, task: TaskId) {
        let Some(rq) = self.fair.entities.get(task.index()).and_then(|entity| entity.load.queue) else {
            return;
        };
        let last_ns = self.fair.loads[rq.index()].avg.last_ns;
        self.update_task_load(task, last_ns, false);
        let load = &mut self.fair.entities[task.index()].load;
        load.queue = None;
        let gone = &mut self.fair.loads[rq.index()].gone;
        for (sum, of_task) in gone.iter_mut().zip([load.avg.load, load.avg.runnable, load.avg.util]) {
            *sum += of_task;
        }
    }

    /// As [`Kernel::remove_load`], of a task whose queue is locked: at once (`detach_entity_load_avg()`).
    pub(super) fn detach_load(&mut self, task: TaskId) {
        let queue = self.fair.entities[task.index()].load.queue;
        self.remove_load(task);
        if let Some(rq) = queue {
            self.update_queue_load(rq);
        }
    }

    /// A task's weight becomes another (`reweight_entity()`).
    pub(super) fn reweight_load(&mut self, task: TaskId, weight: i64) {
        let entity = &mut self.fair.entities[task.index()];
        let before = entity.load;
        let old_weight = std::mem::replace(&mut entity.weight, weight).unsigned_abs();
        let Some(rq) = before.queue else { return };
        let weight = weight.unsigned_abs();
        entity.load.avg.load = weight * before.avg.load_sum / before.avg.divider();
        let (now, queue) = (entity.load.avg, &mut self.fair.loads[rq.index()].avg);
        queue.load = queue.load.saturating_sub(before.avg.load) + now.load;
        queue.load_sum =
            queue.load_sum.saturating_sub(old_weight * before.avg.load_sum) + weight * now.load_sum;
    }

    /// A task wants to run on `rq` (`util_est_enqueue()`), or no more (`util_est_dequeue()`, `util_est_update()`).
    pub(super) fn estimate_joins(&mut self, rq: CpuId, task: TaskId) {
        let estimate = self.fair.entities[task.index()].load.estimate;
        self.fair.loads[rq.index()].estimate += estimate;
    }

    pub(super) fn estimate_leaves(&mut self, rq: CpuId, task: TaskId, sleeps: bool) {
        let capacity = self.capacity(rq);
        let load = &mut self.fair.entities[task.index()].load;
        let sum = &mut self.fair.loads[rq.index()].estimate;
        *sum = sum.saturating_sub(load.estimate);
        if sleeps {
            load.estimate(capacity);
        }
    }

    /// `cpu_load()`.
    pub(super) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.fair.loads[cpu.index()].avg.load
    }

    /// `cpu_runnable()`.
    pub(super) fn cpu_runnable(&self, cpu: CpuId) -> u64 {
        self.fair.loads[cpu.index()].avg.runnable
    }

    /// `cpu_util_cfs()`.
    pub(super) fn cpu_util(&self, cpu: CpuId) -> u64 {
        let load = &self.fair.loads[cpu.index()];
        load.avg.util.max(load.estimate).min(self.capacity(cpu))
    }

    /// `cpu_util_cfs_boost()`: one whose tasks wait is used more than it can tell.
    pub(super) fn cpu_util_boosted(&self, cpu: CpuId) -> u64 {
        let load = &self.fair.loads[cpu.index()];
        load.avg.util.max(load.avg.runnable).max(load.estimate).min(self.capacity(cpu))
    }

    /// The CPU's load, runnable average and utilization without this task's part (`cpu_load_without()` and its like).
    pub(super) fn cpu_without(&self, cpu: CpuId, task: TaskId) -> (u64, u64, u64) {
        let all = &self.fair.loads[cpu.index()];
        let Some(own) = self.fair.entities.get(task.index()).filter(|entity| entity.load.queue == Some(cpu))
        else {
            return (all.avg.load, all.avg.runnable, self.cpu_util(cpu));
        };
        let estimate = if own.on_rq { all.estimate.saturating_sub(own.load.estimate) } else { all.estimate };
        let own = &own.load.avg;
        let util = all.avg.util.saturating_sub(own.util).max(estimate).min(self.capacity(cpu));
        (all.avg.load.saturating_sub(own.load), all.avg.runnable.saturating_sub(own.runnable), util)
    }
}

/// A new task weighs what it may, and gets half of the utilization that is left (`init_entity_runnable_average()`,
/// `post_init_entity_util_avg()`).
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
        // It had to wait: what it used says little.
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
