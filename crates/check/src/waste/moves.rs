//! Tasks run, wait and move from queue to queue.

use super::task::{State, Waker};
use super::{Observer, Pending, Waste};
use crate::origin::{Act, Origins};
use crate::place::{Queue, local_cpu};
use keel_abi::{CpuId, DsqId, Instant, TaskId};
use keel_trace::{Chooser, Why};

impl<O: Observer> Waste<O> {
    pub(super) fn switch(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        prev: TaskId,
        why: Why,
        next: TaskId,
    ) {
        let row = self.cpus.get(cpu);
        if prev == next {
            return;
        }
        let was_idle = row.could_run();
        row.running = (!next.is_idle()).then_some(next);
        let is_idle = row.could_run();
        self.runs(origins, at, cpu, next);
        match (was_idle, is_idle) {
            (true, false) => self.matching.busy(cpu),
            (false, true) => {
                self.cpus.get(cpu).pending = Pending::default();
                self.matching.idle(cpu);
            }
            _ => {}
        }
        match why {
            Why::Preempted | Why::Yielded => {
                let Some(slot) = self.tasks.slot(prev) else { return };
                origins.change(prev, |origin| origin.leaves(at, cpu, why));
                self.wait(slot, cpu);
            }
            Why::Exited => self.gone(origins, prev),
            Why::Blocked | Why::WasIdle => self.leaves_queue(prev, State::Asleep),
        }
    }

    #[inline]
    pub(super) fn runs(&mut self, origins: &mut impl Origins, at: Instant, cpu: CpuId, task: TaskId) {
        let Some(slot) = self.tasks.slot(task) else { return };
        // Its old place counts until now.
        self.part(origins, at, slot);
        self.matching.unwait(slot);
        let Some(row) = self.tasks.at(slot) else { return };
        (row.state, row.throttled) = (State::Running, false);
        origins.change(task, |origin| origin.runs(cpu));
        if let Some((group, cpu)) = row.closes.take() {
            self.matching.reopen(group, cpu);
        }
    }

    #[inline]
    pub(super) fn leaves_queue(&mut self, task: TaskId, state: State) {
        if let Some(slot) = self.tasks.slot(task) {
            self.matching.unwait(slot);
            self.tasks.at(slot).into_iter().for_each(|row| row.state = state);
        }
    }

    pub(super) fn gone(&mut self, origins: &mut impl Origins, task: TaskId) {
        if let Some(slot) = self.tasks.slot(task) {
            self.reopen(slot);
        }
        self.leaves_queue(task, State::Asleep);
        // The episodes may still need the row of a witness that leaves.
        self.follow(origins, self.now);
        self.tasks.end(task);
        origins.end(task);
    }

    pub(super) fn wake(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        act: Act,
        (task, target): (TaskId, CpuId),
        waker: TaskId,
    ) {
        let mut parent = 0;
        let mut by = None;
        if let Some(row) = self.tasks.peek(waker) {
            by = Some(Waker { task: waker, pid: row.pid, name: row.name_number });
            parent = if act == Act::Forked { row.group } else { 0 };
        }
        let Some(slot) = self.tasks.slot(task) else { return };
        let Some(row) = self.tasks.at(slot).filter(|row| row.state == State::Asleep) else { return };
        origins.change(task, |origin| origin.wakes(act, at, cpu, target, waker));
        row.waker = by;
        // A child is in its parent's group.
        if parent != 0 {
            self.belongs(slot, parent);
        }
        self.wait(slot, target);
    }

    #[inline]
    pub(super) fn wait(&mut self, slot: u32, rq: CpuId) {
        let Some(row) = self.tasks.at(slot) else { return };
        (row.state, row.rq) = (State::Waiting, rq);
        if !row.throttled {
            self.matching.wait(slot, row.class, rq);
        }
    }

    pub(super) fn exit(&mut self, origins: &mut impl Origins, task: TaskId) {
        // A task that is still running ends with the switch that follows.
        if self.tasks.get(task).is_some_and(|row| row.state != State::Running) {
            self.gone(origins, task);
        }
    }

    pub(super) fn migrate(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        from: CpuId,
        to: CpuId,
    ) {
        let Some(slot) = self.tasks.slot(task) else { return };
        self.part(origins, at, slot);
        let Some(row) = self.tasks.at(slot) else { return };
        row.rq = to;
        origins.change(task, |origin| origin.migrates(at, cpu, from, to));
    }

    pub(super) fn placed(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        (prev, chosen): (CpuId, CpuId),
        by: Chooser,
    ) {
        let Some(slot) = self.tasks.slot(task) else { return };
        self.part(origins, at, slot);
        let Some(row) = self.tasks.at(slot) else { return };
        match row.state {
            State::Asleep => origins.change(task, |origin| origin.chosen(by, prev)),
            State::Waiting => {
                let rq = row.rq;
                origins.change(task, |origin| origin.dispatched(at, cpu, rq, chosen));
            }
            State::Running => {}
        }
    }

    pub(super) fn queued(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        dsq: DsqId,
    ) {
        if let Some(cpu) = local_cpu(dsq) {
            self.pending(at, cpu);
        }
        self.enters(origins, at, cpu, task, |rq| Queue::from_dsq(dsq, rq));
    }

    pub(super) fn held(&mut self, origins: &mut impl Origins, at: Instant, cpu: CpuId, task: TaskId) {
        self.enters(origins, at, cpu, task, |_| Queue::Held);
    }

    /// A task enters a queue; a running task leaves its CPU at the same time, and waits in the queue.
    pub(super) fn enters(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        queue: impl Fn(CpuId) -> Queue,
    ) {
        let Some(slot) = self.tasks.slot(task) else { return };
        self.part(origins, at, slot);
        let Some(row) = self.tasks.at(slot) else { return };
        match row.state {
            State::Waiting => {
                let rq = row.rq;
                origins.change(task, |origin| origin.enters(at, cpu, rq, queue(rq)));
            }
            State::Running => origins.change(task, |origin| origin.will_be_in(Some(queue(cpu)))),
            State::Asleep => {}
        }
    }

    pub(super) fn unqueued(&mut self, origins: &mut impl Origins, task: TaskId) {
        let Some(row) = self.tasks.get(task) else { return };
        if row.state == State::Running {
            origins.change(task, |origin| origin.will_be_in(None));
        }
    }
}
