//! Spreading what waits: a CPU that has nothing to do takes a waiting fair task from another (`sched_balance_newidle()`);
//! one that has less than another does now and then (`sched_balance_domains()`); one with a crowd wakes an idle one, which
//! then takes one (`nohz_balancer_kick()`).

use crate::kernel::Kernel;
use keel_abi::bpf::World;
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Class, What};

/// Busy CPUs balance this much more seldom (`sd->busy_factor`), and a domain once a millisecond for each of its CPUs.
const BUSY_FACTOR: u64 = 16;

impl Kernel {
    /// `c`, whose own runqueue is locked, looks for a waiting task elsewhere, near CPUs first; a runqueue that somebody works
    /// on is passed by. Says whether one came.
    pub(crate) fn pull_fair<W: World>(&mut self, world: &mut W, c: CpuId) -> bool {
        if self.fair.crowded.is_empty() || !self.cpus[c].online {
            return false;
        }
        let topology = &self.machine.topology;
        let mut from: Vec<CpuId> = self.fair.crowded.iter().filter(|&cpu| cpu != c).collect();
        from.sort_by_key(|&cpu| {
            (topology.distance(c, cpu), std::cmp::Reverse(self.cpus[cpu].fair.len()), cpu)
        });
        for busiest in from {
            if self.cpus[busiest].lock.holder.is_some() {
                continue;
            }
            if let Some(task) = self.movable(busiest, c) {
                self.take_over(world, c, task, busiest);
                return true;
            }
        }
        false
    }

    /// A task that waits on `busiest` and may run on `c`: where `c` has fair tasks itself, one that leaves both with about
    /// as much (`detach_tasks()`).
    fn movable(&self, busiest: CpuId, c: CpuId) -> Option<TaskId> {
        let entities = &self.fair.entities;
        let weight = |cpu: CpuId| self.cpus[cpu].fair.weight(entities);
        let (theirs, mine) = (weight(busiest), weight(c));
        let is_fit = |&task: &TaskId| {
            let t = &self.tasks[task];
            let weight = self.fair.entities[task.index()].weight;
            let is_less = mine == 0 || 2 * weight <= theirs - mine;
            !t.on_cpu && !t.busy && t.migration_disabled == 0 && self.may_use(task, c) && is_less
        };
        self.cpus[busiest].fair.waiting(entities).find(is_fit)
    }

    fn take_over<W: World>(&mut self, world: &mut W, c: CpuId, task: TaskId, from: CpuId) {
        if !self.lock_rq(c, from) {
            unreachable!("nobody holds this lock");
        }
        self.dequeue_fair(task);
        self.cpu(from).nr_running -= 1;
        self.tell(Class::CORE, c, What::Migrate { task, from, to: c });
        let migration_ns = self.machine.costs.migration_ns;
        self.charge_ns(c, migration_ns);
        self.this_cpu().settle_costs();
        self.unlock_rq(c, from);
        let t = self.task(task);
        (t.cpu, t.wake_cpu) = (c, c);
        self.mirror_cpu(world, task);
        self.this_cpu().nr_running += 1;
        self.enqueue_fair(task, false);
    }

    /// At a tick of `c`, its runqueue locked: now and then it looks whether others have more.
    pub(crate) fn balance_fair<W: World>(&mut self, world: &mut W, c: CpuId) {
        if self.fair.crowded.contains(c) {
            self.wake_idle_for(c);
        }
        if self.now < self.cpus[c].balance_at {
            return;
        }
        let period = Span::from_ms(self.cpus.len() as u64 * BUSY_FACTOR);
        self.this_cpu().balance_at = self.now + period;
        if self.pull_fair(world, c) {
            let class = crate::class::SchedClass::Fair;
            if self.this_cpu().next_class < class {
                self.this_cpu().next_class = class;
                self.resched(c, c);
            }
        }
    }

    /// Wakes an idle CPU that could take one of the tasks waiting on `c`.
    fn wake_idle_for(&mut self, c: CpuId) {
        let topology = &self.machine.topology;
        let fits = |&cpu: &CpuId| self.is_vacant(cpu) && self.movable(c, cpu).is_some();
        let nearest = topology.iter().filter(fits).min_by_key(|&cpu| (topology.distance(c, cpu), cpu));
        if let Some(cpu) = nearest {
            self.resched(c, cpu);
        }
    }
}
