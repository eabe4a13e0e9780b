//! Which tasks may run where: affinities, group limits, CPUs that go offline or idle on purpose.

use super::{Observer, PENDING, Waste};
use crate::conduct::{OFFLINE, RESERVED, RUNS, Scene, Slots, State, Task};
use crate::matching;
use keel_abi::{CpuId, Instant};
use keel_trace::TaskInfo;
use std::sync::Arc;

impl<O: Observer> Waste<O> {
    /// A throttled task waits in its queue, but not for a CPU; and its group may not use the CPU where that happened.
    pub(super) fn throttled(
        &mut self,
        scene: &mut Scene,
        (at, cpu): (Instant, CpuId),
        slots: Slots,
        on: bool,
        group: u32,
    ) {
        let Some(slot) = slots.task() else { return };
        self.reopen(scene, slot);
        if group != 0 {
            self.belongs(scene, slot, group);
        }
        let Task { state, rq, throttled, .. } = *scene.tasks.at(slot);
        if on && group != 0 {
            let cpu = if state == State::Running { cpu } else { rq };
            scene.tasks.at(slot).waste.closes = Some((group, cpu));
            self.matching.close(group, cpu);
        }
        if throttled == on || !matches!(state, State::Waiting | State::Throttled) {
            return;
        }
        if on {
            self.part(scene, at, slot);
            self.matching.unwait(slot);
        } else {
            self.matching.wait(slot, scene.tasks.at(slot).waste.class, rq);
        }
    }

    /// The limit of `group` applies to the task in `slot`.
    pub(super) fn belongs(&mut self, scene: &mut Scene, slot: u32, group: u32) {
        let row = &mut scene.tasks.at(slot).waste;
        if row.group == group {
            return;
        }
        row.group = group;
        let class = self.matching.in_group(row.class, group);
        self.in_class(scene, slot, class);
    }

    /// The task in `slot` changes its class.
    fn in_class(&mut self, scene: &mut Scene, slot: u32, class: matching::Class) {
        let task = scene.tasks.at(slot);
        task.waste.class = class;
        if task.state == State::Waiting {
            self.matching.unwait(slot);
            self.matching.wait(slot, class, task.rq);
        }
    }

    /// The task in `slot` no longer closes a CPU to its group.
    pub(super) fn reopen(&mut self, scene: &mut Scene, slot: u32) {
        if let Some((group, cpu)) = scene.tasks.at(slot).waste.closes.take() {
            self.matching.reopen(group, cpu);
        }
    }

    /// A CPU that idles on purpose counts as busy.
    pub(super) fn reserved(&mut self, scene: &mut Scene, cpu: CpuId, on: bool) {
        let row = scene.cpus.get(cpu);
        if row.is(RUNS | OFFLINE) {
            return;
        }
        match (row.is(RESERVED), on) {
            (false, true) => self.matching.busy(cpu),
            (true, false) => self.matching.idle(cpu),
            _ => {}
        }
    }

    pub(super) fn online(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId, up: bool) {
        let row = scene.cpus.get(cpu);
        if row.is(OFFLINE) != up {
            return;
        }
        let idle = !row.is(RUNS | RESERVED);
        self.online.add(at, if up { 1 } else { -1 });
        match (idle, up) {
            (true, true) => self.matching.idle(cpu),
            (true, false) => self.matching.busy(cpu),
            _ => {}
        }
    }

    #[inline(always)]
    pub(super) fn pending(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId) {
        if !scene.cpus.get(cpu).is(RUNS) {
            let row = self.cpus.get(cpu);
            row.pending.extend(at, at + PENDING, row.open.as_ref().map(|open| open.start));
        }
    }

    /// What a task is; `name` is as it is kept. The scene does not know it yet.
    pub(crate) fn about(&mut self, scene: &mut Scene, at: Instant, info: &TaskInfo, name: &Arc<str>) {
        self.now = at;
        let Some(slot) = scene.tasks.slot(info.task) else { return };
        let row = scene.tasks.at(slot);
        let class = self.matching.class_of(&info.cpus, row.waste.group);
        if row.name != *name {
            row.waste.name_number = self.tally.name(name);
        }
        if row.waste.class == class {
            return;
        }
        self.in_class(scene, slot, class);
        self.follow(scene, at);
    }
}
