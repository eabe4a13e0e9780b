//! Queueing, preemption, ticks and picks of fair tasks (`kernel/sched/fair.c`).

use super::entity::weight_of;
use super::queue::Joins;
use crate::class::SchedClass;
use crate::kernel::Kernel;
use keel_abi::task::Policy;
use keel_abi::{CpuId, Instant, Span, TaskId};

impl Kernel {
    /// Puts a task that has become runnable on its CPU's queue (`enqueue_task_fair()`).
    pub(crate) fn enqueue_fair(&mut self, task: TaskId, is_new: bool) {
        let t = &self.tasks[task];
        let (rq, weight) = (t.cpu, weight_of(t.policy, t.nice));
        self.charge_fair_curr(rq);
        let slice_ns = self.fair.slice.as_ns();
        let joins = if is_new { Joins::New } else { Joins::Restart };
        let entity = self.fair.entity(task);
        self.cpus[rq].fair.join(task, entity, weight, joins, slice_ns);
        self.fair.runnable += 1;
        self.note_crowd(rq);
    }

    /// `dequeue_task_fair()`.
    pub(crate) fn dequeue_fair(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (rq, slept) = (t.cpu, t.state != crate::task::State::Runnable);
        self.charge_fair_curr(rq);
        let most_ns = self.fair.slice.as_ns() + self.tick.as_ns();
        let entity = self.fair.entity(task);
        self.cpus[rq].fair.leave(task, entity, slept, most_ns);
        self.fair.runnable -= 1;
        self.note_crowd(rq);
    }

    /// Its nice value or policy has changed (`reweight_entity()`): what it is owed is owed by its new weight.
    pub(crate) fn reweight_fair(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (policy, nice, state) = (t.policy, t.nice, t.state);
        let before = self.fair.entity(task).weight;
        let weight = weight_of(policy, nice);
        if before == 0 || before == weight || state == crate::task::State::Dead {
            return;
        }
        let was_protected = self.fair.entity(task).protected;
        self.dequeue_fair(task);
        let by_weight =
            |virtual_ns: i64| (i128::from(virtual_ns) * i128::from(before) / i128::from(weight)) as i64;
        let entity = self.fair.entity(task);
        entity.lag = by_weight(entity.lag);
        entity.left = entity.left.map(by_weight);
        self.enqueue_fair(task, false);
        let entity = self.fair.entity(task);
        entity.protected = was_protected.min(entity.deadline);
    }

    /// Charges the fair task that runs on `rq`, if one does, up to now.
    fn charge_fair_curr(&mut self, rq: CpuId) {
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
        self.cpus[rq].fair_server.ran += ran;
        let slice_ns = self.fair.slice.as_ns();
        let entity = self.fair.entity(task);
        if ran > Span::ZERO && entity.is_queued() {
            self.cpus[rq].fair.ran(task, entity, ran.as_ns(), slice_ns);
        }
    }

    /// Among fair tasks one that wakes takes the CPU where it would be picked now (`wakeup_preempt_fair()`).
    pub(crate) fn preempt_fair(&mut self, c: CpuId, rq: CpuId, task: TaskId) {
        let curr = self.cpus[rq].curr;
        if curr == task || self.class_of(curr) != SchedClass::Fair {
            return;
        }
        self.charge_fair_curr(rq);
        let (woken, running) = (self.tasks[task].policy, self.tasks[curr].policy);
        let is_new = self.tasks[task].began == Instant::NEVER;
        let goes = match (woken, running) {
            (Policy::Idle, _) => false,
            (_, Policy::Idle) => true,
            (Policy::Batch, _) => false,
            _ if is_new => false,
            _ => self.cpus[rq].fair.pick(&self.fair.entities, Some(curr)) == Some(task),
        };
        if goes {
            let running = self.fair.entity(curr);
            running.protected = running.vruntime;
            self.resched(c, rq);
        }
    }

    /// The tick of a fair task (`task_tick_fair()`): a slice that is over goes to another, if there is one.
    pub(crate) fn tick_fair(&mut self, c: CpuId, task: TaskId) {
        let entity = self.fair.entity(task);
        let is_over = entity.protected <= entity.vruntime;
        let cpu = &self.cpus[c];
        let was_served = cpu.rt.is_ready() && !cpu.fair_server.is_serving();
        if was_served || is_over && cpu.fair.len() > 1 {
            self.resched(c, c);
        }
    }

    /// `yield_task_fair()`.
    pub(crate) fn yield_fair(&mut self, task: TaskId) {
        let rq = self.tasks[task].cpu;
        let slice_ns = self.fair.slice.as_ns();
        if self.cpus[rq].nr_ready() > 1 {
            let entity = self.fair.entity(task);
            self.cpus[rq].fair.give_way(task, entity, slice_ns);
        }
    }

    /// Who of `c`'s fair tasks is next; the one that runs has been charged (`pick_task_fair()`).
    pub(crate) fn next_fair(&mut self, c: CpuId) -> Option<TaskId> {
        let curr = self.cpus[c].curr;
        let running = (self.class_of(curr) == SchedClass::Fair).then_some(curr);
        let next = self.cpus[c].fair.pick(&self.fair.entities, running)?;
        if running != Some(next) {
            // `set_protect_slice()`
            let entity = self.fair.entity(next);
            entity.protected = entity.deadline;
        }
        Some(next)
    }

    /// Has `rq` more fair tasks than it can run?
    fn note_crowd(&mut self, rq: CpuId) {
        match self.cpus[rq].fair.len() > 1 {
            true => self.fair.crowded.insert(rq),
            false => self.fair.crowded.remove(rq),
        };
    }
}
