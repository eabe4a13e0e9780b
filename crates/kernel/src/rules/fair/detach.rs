//! Detaches tasks from a busy CPU (`detach_tasks()`, `can_migrate_task()`), the least recently run first.

use crate::rules::fair::cost::Visit;
use crate::state::fair::idle_time::MIGRATION_COST;
use crate::state::fair::round::{Idleness, Moves, Round};
use crate::state::kernel::Kernel;
use keel_abi::task::Policy;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

/// A task that ran this recently is cache-hot: balancing leaves it where it is, unless it has failed too often
/// (`task_hot()`).
const HOT_NS: u64 = MIGRATION_COST.as_ns();

impl Kernel {
    /// Detaches tasks from the round's source, which is locked, until its imbalance is made up for.
    pub(crate) fn take_tasks(&mut self, c: CpuId, round: &mut Round) {
        let from = round.from;
        self.charge_fair_curr(from);
        self.update_queue_load(from);
        if self.nr_running(from) <= 1 {
            round.all_pinned = false;
            return;
        }
        // A task that is skipped goes to the end of the list.
        for task in self.by_last_run(from) {
            let is_last = round.idleness != Idleness::Busy && self.nr_running(from) <= 1;
            if is_last || round.imbalance <= 0 {
                break;
            }
            round.looked_at += 1;
            if round.looked_at > round.most {
                break;
            }
            if round.looked_at > round.pause {
                round.pause += crate::state::fair::round::TASKS_A_LOCK;
                round.needs_pause = true;
                break;
            }
            self.charge_visit(c, Visit::Task);
            let amount = if self.can_move(round, task) { self.amount_of(round, task) } else { None };
            let Some(amount) = amount else {
                self.touch(task);
                continue;
            };
            round.imbalance -= amount;
            self.take(c, round, task);
            if round.idleness == Idleness::NewlyIdle {
                break;
            }
        }
    }

    /// Detaches the first task that may move, for active balancing (`detach_one_task()`).
    pub(crate) fn take_one(&mut self, c: CpuId, round: &mut Round) -> bool {
        for task in self.by_last_run(round.from) {
            self.charge_visit(c, Visit::Task);
            if self.can_move(round, task) {
                self.take(c, round, task);
                return true;
            }
        }
        false
    }

    /// Returns a CPU's fair tasks in the order in which they arrived or last ran (`rq->cfs_tasks`).
    fn by_last_run(&self, cpu: CpuId) -> Vec<TaskId> {
        let mut tasks: Vec<TaskId> = self.fair_tasks(cpu);
        tasks.sort_by_key(|&task| self.fair.entities[task].listed);
        tasks
    }

    /// Makes a task that arrives or runs the last one on its CPU's list.
    pub(super) fn touch(&mut self, task: TaskId) {
        self.fair.listed += 1;
        self.fair.entities[task].listed = self.fair.listed;
    }

    /// `can_migrate_task()`.
    fn can_move(&mut self, round: &mut Round, task: TaskId) -> bool {
        let (hierarchy, entity) = (round.hierarchy.clone(), &self.fair.entities[task]);
        let level = &hierarchy.levels(round.owner)[round.level];
        let failed = self.memory_of(round.owner, round.level).failed;
        let t = &self.tasks[task];
        if entity.delayed && round.moves != Moves::Load {
            return false;
        }
        let is_behind = self.queue_at(entity.queue).is_eligible(&self.fair.entities, entity);
        if failed == 0 && self.has_mates(task, round.to) && !is_behind {
            return false;
        }
        if self.is_throttled_on(task, round.to) {
            return false;
        }
        if self.is_kthread(task) && t.nr_allowed == 1 {
            return false;
        }
        if !self.may_use(task, round.to) {
            round.some_pinned = true;
            if round.idleness != Idleness::NewlyIdle && round.other.is_none() && !round.is_active {
                let others = hierarchy.local(level).cpus.and(&round.cpus);
                round.other = others.iter().find(|&cpu| cpu != round.to && self.may_use(task, cpu));
            }
            return false;
        }
        round.all_pinned = false;
        if t.on_cpu || t.busy {
            return false;
        }
        if round.is_active {
            return true;
        }
        let is_hot = !level.is_core()
            && t.policy != Policy::Idle
            && self.cpus.this_cpu.clock.since(t.exec_start).as_ns() < HOT_NS;
        !is_hot || failed > level.cache_nice_tries
    }

    /// Returns whether the task's group has any entities on that CPU (`task_is_ineligible_on_dst_cpu()`).
    fn has_mates(&self, task: TaskId, cpu: CpuId) -> bool {
        let groups = &self.fair.groups;
        match self.fair.entities[task].queue.group().map(|slot| groups.slots[slot.index()].group) {
            None => self.cpus[cpu].fair.entities() > 0,
            Some(group) => {
                groups.slot(group, cpu).is_some_and(|slot| groups.slots[slot.index()].queue.entities() > 0)
            }
        }
    }

    /// Returns how much of the imbalance the task accounts for, or `None` if it is too large to move.
    fn amount_of(&self, round: &Round, task: TaskId) -> Option<i64> {
        let load = &self.fair.entities[task].load;
        let failed = self.memory_of(round.owner, round.level).failed;
        let fits = |amount: u64| (amount >> failed.min(63)) as i64 <= round.imbalance;
        match round.moves {
            Moves::Load => {
                Some(self.task_load(task).max(1)).filter(|&load| fits(load)).map(|load| load as i64)
            }
            Moves::Util => Some(load.util_or_estimate()).filter(|&util| fits(util)).map(|util| util as i64),
            Moves::Tasks => Some(1),
            Moves::Misfit => (!self.task_fits(task, round.from)).then_some(round.imbalance),
        }
    }

    /// `detach_task()`: the task is in no queue until its new CPU is locked.
    fn take(&mut self, c: CpuId, round: &mut Round, task: TaskId) {
        let from = round.from;
        if self.fair.entities[task].delayed {
            // The task keeps sleeping; it only stops competing.
            return self.forget_delayed(task);
        }
        self.dequeue_fair(task);
        self.detach_load(task);
        self.cpu(from).nr_running -= 1;
        self.task(task).busy = true;
        self.tell(Class::BRIEF, c, What::Migrate { task, from, to: round.to });
        let touched_ps = self.lines.write_task_ps(task, self.cpus.holder());
        let migration_ns = self.machine.costs.migration_ns;
        self.charge_ps(c, migration_ns * 1000 + touched_ps);
        round.taken.push(task);
    }
}
