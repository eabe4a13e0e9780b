//! Enqueues, dequeues and charges fair tasks, and lets them yield (`enqueue_task_fair()`, `dequeue_task_fair()`,
//! `update_curr()`).

use crate::rules::fair::hierarchy::Leaves;
use crate::state::class::SchedClass;
use crate::state::fair::ids::EntityId;
use crate::state::fair::queue::{Joins, Share};
use crate::state::fair::weight::weight_of;
use crate::state::kernel::Kernel;
use crate::state::task::State;
use keel_abi::task::Policy;
use keel_abi::{CpuId, Span, TaskId};

impl Kernel {
    /// Puts a task that has become runnable on its CPU's runqueue (`enqueue_task_fair()`).
    pub(crate) fn enqueue_fair(&mut self, task: TaskId, is_new: bool) {
        let t = &self.tasks[task];
        let (rq, is_running) = (t.cpu, t.on_cpu);
        let share = self.share_of(task);
        self.charge_fair_curr(rq);
        self.end_slice(rq);
        let home = self.home_of(task, rq);
        let entity = &self.fair.entities[task];
        if entity.is_throttled && self.stays_throttled(task, home) {
            return;
        }
        if self.fair.entities[task].delayed && self.fair.entities[task].queue != home {
            self.forget_delayed(task);
        }
        self.load_joins(home, task, share.weight);
        self.estimate_joins(rq, task);
        let is_delayed = self.fair.entities[task].delayed;
        self.fair.entities[task].queue = home;
        if is_running {
            self.adopt_running(task);
        }
        if is_delayed {
            self.wake_in_queue(task);
        } else {
            self.join_queues(task, share, if is_new { Joins::New } else { Joins::Restart });
            self.fair.queued += 1;
        }
        self.touch(task);
        self.fair.is_overloaded |= self.nr_running(rq) > 1;
        if !is_new {
            self.note_overuse(rq);
        }
        self.start_hrtick(rq);
    }

    /// `dequeue_task_fair()`. A task that goes to sleep may stay queued until its lag is no longer negative, but it no
    /// longer counts as runnable.
    pub(crate) fn dequeue_fair(&mut self, task: TaskId) {
        let (rq, state) = (self.tasks[task].cpu, self.tasks[task].state);
        if self.leave_limbo(task) {
            return;
        }
        self.charge_fair_curr(rq);
        self.update_load(self.fair.entities[task].queue, task.into());
        self.estimate_leaves(rq, task, matches!(state, State::Blocked | State::Dead));
        let why = match state {
            State::Blocked => Leaves::Sleeps,
            State::Dead => Leaves::Goes,
            _ => Leaves::Moves,
        };
        if self.leave_queues(task.into(), why) {
            self.fair.queued -= 1;
        }
        if state == State::Dead {
            self.remove_load(task);
        }
    }

    /// Removes a sleeping task from the queue that it has stayed in (`DEQUEUE_DELAYED`).
    pub(crate) fn forget_delayed(&mut self, task: TaskId) {
        if self.fair.entities.get(task).is_some_and(|entity| entity.delayed) {
            self.forget(task.into());
        }
    }

    /// Like [`Kernel::forget_delayed`], but also for an empty group's entity.
    pub(crate) fn forget(&mut self, id: EntityId) {
        self.update_load(self.fair.entities[id].queue, id);
        self.leave_queues(id, Leaves::Goes);
        self.fair.queued -= u32::from(id.task().is_some());
    }

    /// Returns the CPU in whose queue the task sleeps, if any. It wakes there, even if other CPUs are idle
    /// (`ttwu_runnable()`).
    pub(crate) fn sleeps_in(&self, task: TaskId) -> Option<CpuId> {
        self.fair.entities.get(task).filter(|entity| entity.delayed).map(|entity| entity.queue.cpu)
    }

    fn share_of(&self, task: TaskId) -> Share {
        let t = &self.tasks[task];
        let own = t.spec.and_then(|spec| self.workload.tasks[spec as usize].slice);
        Share {
            weight: weight_of(t.policy, t.nice),
            slice_ns: own.unwrap_or(self.fair.slice).as_ns(),
            is_idle: t.policy == Policy::Idle,
        }
    }

    /// Applies a changed nice value or policy (`reweight_entity()`): the task's lag is scaled to its new weight.
    pub(crate) fn reweight_fair(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (policy, nice, is_dead) = (t.policy, t.nice, t.state == State::Dead);
        self.forget_delayed(task);
        let entity = self.fair.entity(task);
        let (before, was_on_rq) = (entity.weight, entity.on_rq);
        let weight = weight_of(policy, nice);
        if before == 0 || before == weight || is_dead {
            return;
        }
        if was_on_rq {
            self.dequeue_fair(task);
        }
        let by_weight =
            |virtual_ns: i64| (i128::from(virtual_ns) * i128::from(before) / i128::from(weight)) as i64;
        let entity = self.fair.entity(task);
        entity.lag = by_weight(entity.lag);
        entity.left = entity.left.map(by_weight);
        self.reweight_load(task.into(), before, weight);
        if was_on_rq {
            self.enqueue_fair(task, false);
        }
    }

    /// Charges the fair task that runs on `rq`, if there is one, up to now.
    pub(crate) fn charge_fair_curr(&mut self, rq: CpuId) {
        let (curr, at) = (self.cpus[rq].curr, self.cpus.this_cpu.clock);
        if self.class_of(curr) != SchedClass::Fair {
            return;
        }
        let t = &mut self.tasks[curr];
        let ran = at.since(t.exec_start);
        t.exec_start = at.max(t.exec_start);
        t.cpu_time += ran;
        self.charge_fair(curr, ran);
    }

    /// Charges a fair task, and each group that it is in, for running this long.
    #[cold]
    pub(crate) fn charge_fair(&mut self, task: TaskId, ran: Span) {
        let rq = self.tasks[task].cpu;
        self.cpus[rq].fair_server.ran += ran;
        if ran == Span::ZERO {
            return;
        }
        let mut id = EntityId::from(task);
        loop {
            let entity = &self.fair.entities[id];
            let (at, is_there) = (entity.queue, entity.on_rq);
            let (queue, entities) = self.queue_mut(at);
            if queue.curr() != Some(id) {
                return;
            }
            if is_there {
                queue.charge(entities, id, ran.as_ns());
            }
            let Some(slot) = at.group() else { return };
            self.account(slot, ran);
            id = slot.entity();
        }
    }

    /// `yield_task_fair()`.
    pub(crate) fn yield_fair(&mut self, task: TaskId) {
        let rq = self.tasks[task].cpu;
        if self.cpus[rq].nr_ready() > 1 {
            self.stop_preferring(task.into());
            let (queue, entities) = self.queue_mut(self.fair.entities[task].queue);
            queue.give_way(entities, task.into());
        }
    }

    /// When `c` switches from a fair task to `next` (`put_prev_task_fair()`).
    pub(crate) fn put_prev_fair(&mut self, c: CpuId, next: TaskId) {
        let is_fair = self.class_of(next) == SchedClass::Fair;
        self.put_queues(c, Some(next).filter(|_| is_fair));
        if next.is_idle() {
            self.cpus[c].ticks.set_hrtick(keel_abi::Instant::NEVER);
            let load = &mut self.fair.loads[c.index()];
            load.clock.go_idle(load.queue.avg.is_full());
        }
    }

    /// When `c` switches to a fair task (`set_next_task_fair()`).
    pub(crate) fn set_next_fair(&mut self, c: CpuId, next: TaskId) {
        self.set_queues(next);
        self.touch(next);
        self.set_hrtick(c);
    }
}
