//! Which tasks may run where: affinities, group limits, CPUs that go offline or idle on purpose.

use super::task::State;
use super::{Observer, PENDING, Waste};
use crate::matching;
use crate::origin::Origins;
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::TaskInfo;
use std::sync::Arc;

impl<O: Observer> Waste<O> {
    /// A throttled task waits in its queue, but not for a CPU; and its group may not use the CPU where that happened.
    pub(super) fn throttled(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        on: bool,
        group: u32,
    ) {
        let Some(slot) = self.tasks.slot(task) else { return };
        self.reopen(slot);
        if group != 0 {
            self.belongs(slot, group);
        }
        let Some(row) = self.tasks.at(slot) else { return };
        if on && group != 0 {
            let cpu = if row.state == State::Running { cpu } else { row.rq };
            row.closes = Some((group, cpu));
            self.matching.close(group, cpu);
        }
        if std::mem::replace(&mut row.throttled, on) == on || row.state != State::Waiting {
            return;
        }
        if on {
            self.part(origins, at, slot);
            self.matching.unwait(slot);
        } else {
            self.matching.wait(slot, row.class, row.rq);
        }
    }

    /// The limit of `group` applies to the task in `slot`.
    pub(super) fn belongs(&mut self, slot: u32, group: u32) {
        let Some(row) = self.tasks.at(slot).filter(|row| row.group != group) else { return };
        row.group = group;
        let class = self.matching.in_group(row.class, group);
        self.in_class(slot, class);
    }

    /// The task in `slot` changes its class.
    pub(super) fn in_class(&mut self, slot: u32, class: matching::Class) {
        let Some(row) = self.tasks.at(slot) else { return };
        row.class = class;
        if row.state == State::Waiting && !row.throttled {
            let rq = row.rq;
            self.matching.unwait(slot);
            self.matching.wait(slot, class, rq);
        }
    }

    /// The task in `slot` no longer closes a CPU to its group.
    pub(super) fn reopen(&mut self, slot: u32) {
        if let Some((group, cpu)) = self.tasks.at(slot).and_then(|row| row.closes.take()) {
            self.matching.reopen(group, cpu);
        }
    }

    /// A CPU that idles on purpose counts as busy.
    pub(super) fn reserved(&mut self, cpu: CpuId, on: bool) {
        let row = self.cpus.get(cpu);
        let was_idle = row.could_run();
        row.reserved = on;
        match (was_idle, row.could_run()) {
            (true, false) => self.matching.busy(cpu),
            (false, true) => self.matching.idle(cpu),
            _ => {}
        }
    }

    pub(super) fn online(&mut self, at: Instant, cpu: CpuId, up: bool) {
        let row = self.cpus.get(cpu);
        if row.offline != up {
            return;
        }
        row.offline = !up;
        let idle = row.running.is_none() && !row.reserved;
        self.online.add(at, if up { 1 } else { -1 });
        match (idle, up) {
            (true, true) => self.matching.idle(cpu),
            (true, false) => self.matching.busy(cpu),
            _ => {}
        }
    }

    pub(super) fn pending(&mut self, at: Instant, cpu: CpuId) {
        let row = self.cpus.get(cpu);
        if row.running.is_none() {
            row.pending.extend(at, at + PENDING, row.open.as_ref().map(|open| open.start));
        }
    }

    /// What a task is; `name` is as it is kept.
    pub(crate) fn about(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        info: &TaskInfo,
        name: &Arc<str>,
    ) {
        self.now = at;
        let Some(slot) = self.tasks.slot(info.task) else { return };
        let Some(row) = self.tasks.at(slot) else { return };
        let class = self.matching.class_of(&info.cpus, row.group);
        row.pid = info.pid;
        if row.name != *name {
            row.name = name.clone();
            row.name_number = self.tally.name(&row.name);
        }
        if row.class == class {
            return;
        }
        self.in_class(slot, class);
        self.follow(origins, at);
    }
}
