//! Episodes begin, change their witness and end as the matching changes.

use super::episode::{Left, Open, Past};
use super::groups::Tally;
use super::task::{MOST_PARTS, Rows, note_parts, seen};
use super::{Cpu, Observer, SHORT, Waste};
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
        let row = self.cpus.get(cpu);
        match &row.open {
            None => row.begins(at),
            Some(_) => leave((&mut self.tasks, scene), &self.tally, at, row),
        }
        if let Some(open) = &mut row.open {
            open.meet(at, slot);
        }
    }

    /// Another decision about the task in `slot` is in force from now on: if the task is a witness, its time so far
    /// becomes a part of its own.
    #[inline(always)]
    pub(super) fn part(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        let Some(cpu) = self.matching.paired(slot) else { return };
        let row = self.cpus.get(cpu);
        // Often several decisions fall into one moment.
        if row.open.as_ref().is_some_and(|open| open.witness() == Some(slot) && !open.has_part_begun(at)) {
            part_of((&mut self.tasks, scene), &self.tally, at, row, slot);
        }
    }

    pub(super) fn close(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId) {
        let row = self.cpus.get(cpu);
        let Some(open) = &row.open else { return };
        let length = at.since(open.start);
        let excused = row.pending.within(open.start, at);
        let left = length.saturating_sub(excused);
        if left < SHORT {
            self.transient += length;
            return row.ends();
        }
        self.transient += excused;
        self.wastes(scene, at, cpu, left);
    }

    /// Adds the episode on `cpu` that ends; `left` of it is not transient.
    fn wastes(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId, left: Span) {
        let row = self.cpus.get(cpu);
        leave((&mut self.tasks, scene), &self.tally, at, row);
        let Some(open) = &mut row.open else { return };
        let (start, length) = (open.start, at.since(open.start));
        self.wasted += left;
        self.episodes += 1;
        self.observer.wasted(cpu, start, at);
        note_parts(&mut row.parts, &mut row.notes, self.tally.topology.as_ref());
        self.tally.add(cpu, left, &row.notes);
        if self.longest.takes(length, start) {
            self.longest.keep(Past { cpu, start, length, seen: open.take_seen() });
        }
        row.ends();
    }
}

impl Cpu {
    /// An episode begins.
    fn begins(&mut self, at: Instant) {
        self.pending.begin();
        self.open = Some(Open::new(at));
    }

    /// The episode ends.
    fn ends(&mut self) {
        self.open = None;
        self.parts.clear();
        self.notes.clear();
    }
}

/// Ends the current part of the wait of the task in `slot`, a witness.
fn part_of(
    (tasks, scene): (&mut Rows, &mut Scene),
    tally: &Tally,
    at: Instant,
    Cpu { pending, open, parts, notes }: &mut Cpu,
    slot: u32,
) {
    let Some(open) = open else { return };
    if open.has_part_begun(at) {
        return;
    }
    let excused = pending.within(open.start, at);
    let (row, task) = (tasks.at(slot), scene.tasks.at(slot));
    let wasted = open.part(at, excused, || (task.origin.here, row.waker(&task.origin)));
    if wasted > Span::ZERO {
        if parts.len() == MOST_PARTS {
            note_parts(parts, notes, tally.topology.as_ref());
        }
        parts.push(row.part(task, wasted));
    }
}

/// The current witness leaves; it is remembered if it stayed longest.
fn leave((tasks, scene): (&mut Rows, &mut Scene), tally: &Tally, at: Instant, row: &mut Cpu) {
    let Some(slot) = row.open.as_ref().and_then(Open::witness) else { return };
    part_of((&mut *tasks, &mut *scene), tally, at, row, slot);
    let Some(open) = &mut row.open else { return };
    let Some(Left { part: (part, here, waker), met }) = open.leaves(at) else { return };
    open.remember(seen(scene.tasks.at(slot), here, waker, part, met));
}
