//! Episodes begin, change their witness and end as the matching changes.

use super::episode::{Left, Open, Past};
use super::groups::{Tally, note};
use super::task::{Rows, seen};
use super::{Cpu, Observer, Pending, SHORT, Waste};
use crate::conduct::Scene;
use keel_abi::{CpuId, Instant, Span};

impl<O: Observer> Waste<O> {
    /// Updates the episodes to the matching.
    pub(super) fn follow(&mut self, scene: &mut Scene, at: Instant) {
        let mut known = 0;
        while let Some((cpu, slot)) = self.matching.change(known) {
            known += 1;
            match slot {
                Some(slot) => self.witness(scene, at, cpu, slot),
                // Its next witness follows: still the same episode.
                None if self.matching.wasted(cpu) => {}
                None => self.close(scene, at, cpu),
            }
        }
        self.matching.forget_changes();
    }

    /// `cpu` is wasted from now on, and the task in `slot` could run there.
    pub(super) fn witness(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId, slot: u32) {
        let Cpu { pending, open, .. } = self.cpus.get(cpu);
        if open.is_none() {
            pending.begin();
        }
        let spare = &mut self.spare;
        let open = open.get_or_insert_with(|| Open::new(at, spare.pop().unwrap_or_default()));
        leave((&mut self.tasks, scene), &self.tally, at, pending, open);
        open.meet(at, slot);
    }

    /// Another decision about the task in `slot` is in force from now on: if the task is a witness, its time so far
    /// becomes a part of its own.
    #[inline(always)]
    pub(super) fn part(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        let Some(cpu) = self.matching.paired(slot) else { return };
        let Cpu { pending, open, .. } = self.cpus.get(cpu);
        if let Some(open) = open.as_mut().filter(|open| open.witness() == Some(slot)) {
            part_of((&mut self.tasks, scene), &self.tally, at, pending, open, slot);
        }
    }

    pub(super) fn close(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId) {
        let Some(mut open) = self.cpus.get(cpu).open.take() else { return };
        let length = at.since(open.start);
        let excused = self.cpus.get(cpu).pending.within(open.start, at);
        let left = length.saturating_sub(excused);
        if left < SHORT {
            self.transient += length;
        } else {
            self.transient += excused;
            self.wastes(scene, at, cpu, &mut open, left);
        }
        open.notes.clear();
        self.spare.push(open.notes);
    }

    /// Adds the episode on `cpu` that ends; `left` of it is not transient.
    fn wastes(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId, open: &mut Open, left: Span) {
        let length = at.since(open.start);
        self.wasted += left;
        self.episodes += 1;
        self.observer.wasted(cpu, open.start, at);
        let pending = self.cpus.get(cpu).pending;
        leave((&mut self.tasks, scene), &self.tally, at, &pending, open);
        self.tally.add(cpu, left, &open.notes);
        if self.longest.takes(length, open.start) {
            self.longest.keep(Past { cpu, start: open.start, length, seen: open.take_seen() });
        }
    }
}

/// Ends the current part of the wait of the task in `slot`, a witness.
fn part_of(
    (tasks, scene): (&mut Rows, &mut Scene),
    tally: &Tally,
    at: Instant,
    pending: &Pending,
    open: &mut Open,
    slot: u32,
) {
    if open.has_part_begun(at) {
        return;
    }
    let excused = pending.within(open.start, at);
    let (row, task) = (tasks.at(slot), scene.tasks.at(slot));
    let wasted = open.part(at, excused, || (task.origin.here, row.waker(&task.origin)));
    if wasted > Span::ZERO {
        note(&mut open.notes, row.note(task, wasted, tally.topology.as_ref()));
    }
}

/// The current witness leaves; it is remembered if it stayed longest.
fn leave(
    (tasks, scene): (&mut Rows, &mut Scene),
    tally: &Tally,
    at: Instant,
    pending: &Pending,
    open: &mut Open,
) {
    let Some(slot) = open.witness() else { return };
    part_of((&mut *tasks, &mut *scene), tally, at, pending, open, slot);
    let Some(Left { part: (part, here, waker), met }) = open.leaves(at) else { return };
    open.remember(seen(scene.tasks.at(slot), here, waker, part, met));
}
