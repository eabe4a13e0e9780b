//! Tasks that come, go, run and are picked (`enqueue_task_fair()`, `dequeue_task_fair()`, `pick_task_fair()`).

use super::queue::{Joins, Pick, Share};
use super::weight::weight_of;
use crate::class::SchedClass;
use crate::kernel::Kernel;
use crate::task::State;
use keel_abi::task::Policy;
use keel_abi::{CpuId, Span, TaskId};

impl Kernel {
    /// Puts a task that has become runnable on its CPU's queue (`enqueue_task_fair()`).
    pub(crate) fn enqueue_fair(&mut self, task: TaskId, is_new: bool) {
        let t = &self.tasks[task];
        let (rq, is_running) = (t.cpu, t.on_cpu);
        let share = self.share_of(task);
        self.charge_fair_curr(rq);
        self.end_slice(rq);
        let entity = self.fair.entity(task);
        if entity.delayed && entity.cpu != rq {
            self.forget_delayed(task);
        }
        self.load_joins(rq, task, share.weight);
        self.estimate_joins(rq, task);
        let tick_ns = self.tick.as_ns();
        let (queue, entities) = (&mut self.cpus[rq].fair, &mut self.fair.entities);
        if is_running {
            queue.adopt(task);
        }
        if entities[task.index()].delayed {
            queue.wakes(entities, task, tick_ns);
        } else {
            queue.join(entities, task, share, if is_new { Joins::New } else { Joins::Restart });
            entities[task.index()].cpu = rq;
            self.fair.queued += 1;
        }
        self.touch(task);
        self.fair.is_overloaded |= self.nr_running(rq) > 1;
        self.start_hrtick(rq);
    }

    /// `dequeue_task_fair()`. One that goes to sleep may stay until it is owed something, though it counts no more.
    pub(crate) fn dequeue_fair(&mut self, task: TaskId) {
        let (rq, state) = (self.tasks[task].cpu, self.tasks[task].state);
        self.charge_fair_curr(rq);
        self.update_load(rq, task);
        self.estimate_leaves(rq, task, matches!(state, State::Blocked | State::Dead));
        let tick_ns = self.tick.as_ns();
        let (queue, entities) = (&mut self.cpus[rq].fair, &mut self.fair.entities);
        let stays = state == State::Blocked && queue.stays_asleep(entities, task, tick_ns);
        if !stays {
            let slept = matches!(state, State::Blocked | State::Dead);
            queue.leave(entities, task, slept, tick_ns);
            self.fair.queued -= 1;
        }
        if state == State::Dead {
            self.remove_load(task);
        }
    }

    /// A task that sleeps leaves the queue that it has stayed in (`DEQUEUE_DELAYED`).
    pub(crate) fn forget_delayed(&mut self, task: TaskId) {
        let Some(entity) = self.fair.entities.get(task.index()).filter(|entity| entity.delayed) else {
            return;
        };
        let (rq, tick_ns) = (entity.cpu, self.tick.as_ns());
        self.update_load(rq, task);
        self.cpus[rq].fair.leave(&mut self.fair.entities, task, true, tick_ns);
        self.fair.queued -= 1;
    }

    /// The CPU in whose queue the task sleeps, if it does: it wakes there, wherever else is idle (`ttwu_runnable()`).
    pub(crate) fn sleeps_in(&self, task: TaskId) -> Option<CpuId> {
        self.fair.entities.get(task.index()).filter(|entity| entity.delayed).map(|entity| entity.cpu)
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

    /// Its nice value or policy has changed (`reweight_entity()`): what it is owed is owed by its new weight.
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
        self.reweight_load(task, weight);
        if was_on_rq {
            self.enqueue_fair(task, false);
        }
    }

    /// Charges the fair task that runs on `rq`, if one does, up to now.
    pub(super) fn charge_fair_curr(&mut self, rq: CpuId) {
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

    /// A fair task has run for so long.
    #[cold]
    pub(crate) fn charge_fair(&mut self, task: TaskId, ran: Span) {
        let rq = self.tasks[task].cpu;
        let cpu = &mut self.cpus[rq];
        cpu.fair_server.ran += ran;
        if ran > Span::ZERO && cpu.fair.curr() == Some(task) && self.fair.entities[task.index()].on_rq {
            cpu.fair.ran(&mut self.fair.entities, task, ran.as_ns());
        }
    }

    /// `yield_task_fair()`.
    pub(crate) fn yield_fair(&mut self, task: TaskId) {
        let rq = self.tasks[task].cpu;
        let cpu = &mut self.cpus[rq];
        if cpu.nr_ready() > 1 {
            cpu.fair.give_way(&mut self.fair.entities, task);
        }
    }

    /// Who of `c`'s fair tasks is next; the one that runs has been charged (`pick_task_fair()`).
    pub(crate) fn next_fair(&mut self, c: CpuId) -> Option<TaskId> {
        self.pick_awake(c, Pick::Protecting)
    }

    /// As `pick_eevdf()` says. Whoever sleeps and would be next is owed nothing any more, and goes
    /// (`pick_next_entity()`).
    pub(super) fn pick_awake(&mut self, rq: CpuId, pick: Pick) -> Option<TaskId> {
        loop {
            let next = self.cpus[rq].fair.pick(&self.fair.entities, pick)?;
            if !self.fair.entities[next.index()].delayed {
                return Some(next);
            }
            self.forget_delayed(next);
        }
    }

    /// `c` switches from a fair task to `next` (`put_prev_task_fair()`).
    pub(crate) fn put_prev_fair(&mut self, c: CpuId, next: TaskId) {
        if let Some(prev) = self.cpus[c].fair.curr() {
            self.update_load(c, prev);
        }
        let cpu = &mut self.cpus[c];
        cpu.fair.put_prev(&mut self.fair.entities);
        if next.is_idle() {
            cpu.hrtick_at = keel_abi::Instant::NEVER;
            let load = &mut self.fair.loads[c.index()];
            load.clock.idles(load.avg.is_full());
        }
    }

    /// `c` switches to a fair task (`set_next_task_fair()`).
    pub(crate) fn set_next_fair(&mut self, c: CpuId, next: TaskId) {
        self.update_load(c, next);
        self.cpus[c].fair.set_next(&mut self.fair.entities, next);
        self.touch(next);
        self.set_hrtick(c);
    }
}
