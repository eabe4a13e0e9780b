//! Episodes begin, change their witness and end as the matching changes.

use super::episode::{Left, Open, Past, longest};
use super::groups::Tally;
use super::task::{MOST_PARTS, Part, Who, note_parts, seen};
use super::{Cpu, Observer, SHORT, Waste};
use crate::conduct::Scene;
use crate::place::Here;
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
    #[inline(never)]
    pub(super) fn witness(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId, slot: u32) {
        let row = self.cpus.get(cpu);
        match &row.open {
            None => row.begins(at),
            Some(_) => leave(scene, &self.tally, at, row),
        }
        if let Some(open) = &mut row.open {
            open.meet(at, slot, row.parts.len());
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
            if row.parts.len() == MOST_PARTS {
                condense(scene, &self.tally, row);
            }
            row.part(at, &scene.tasks.at(slot).origin.here);
        }
    }

    /// `cpu` is no longer wasted.
    #[inline(never)]
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

    /// Adds the episode on `cpu` that ends; `left` of it is not transient. Most episodes are transients.
    #[inline(never)]
    fn wastes(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId, left: Span) {
        let row = self.cpus.get(cpu);
        let Some(open) = &row.open else { return };
        let (start, length) = (open.start, at.since(open.start));
        let keeps = self.longest.takes(length, start);
        if let Some(slot) = ends_part(scene, &self.tally, at, row)
            && keeps
        {
            remember(scene, at, row, slot);
        }
        self.wasted += left;
        self.episodes += 1;
        self.observer.wasted(cpu, start, at);
        self.tally.add(cpu, left);
        if !row.notes.is_empty() {
            note_parts(&mut row.parts, &mut row.notes, self.tally.topology.as_ref());
            row.notes.iter().for_each(|note| self.tally.add_part(note));
        }
        for part in &row.parts {
            let note = part.note(self.tally.topology.as_ref());
            self.tally.add_part(&note);
        }
        if keeps && let Some(open) = &mut row.open {
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

    /// A part of the wait of the witness, which was `here`, ends.
    fn part(&mut self, at: Instant, here: &Here) {
        let Some(open) = &mut self.open else { return };
        let excused = self.pending.within(open.start, at);
        if let Some((length, wasted)) = open.part(at, excused) {
            self.parts.push(Part { length, wasted, here: *here, who: Who::UNKNOWN });
        }
    }

    /// The episode ends.
    fn ends(&mut self) {
        self.open = None;
        self.parts.clear();
        self.notes.clear();
    }
}

/// Names the current witness in its parts so far.
fn name_parts(scene: &mut Scene, row: &mut Cpu) {
    let Some((slot, first)) = row.open.as_ref().and_then(Open::first_part) else { return };
    let task = scene.tasks.at(slot);
    row.parts[first..].iter_mut().for_each(|part| part.is_of(task));
}

/// Makes room for more parts.
#[cold]
fn condense(scene: &mut Scene, tally: &Tally, row: &mut Cpu) {
    name_parts(scene, row);
    if let Some(open) = &mut row.open {
        open.forgets(&row.parts);
    }
    note_parts(&mut row.parts, &mut row.notes, tally.topology.as_ref());
}

/// The current witness leaves; it is remembered if it stayed longest.
fn leave(scene: &mut Scene, tally: &Tally, at: Instant, row: &mut Cpu) {
    if let Some(slot) = ends_part(scene, tally, at, row) {
        remember(scene, at, row, slot);
    }
}

/// The last part of the current witness's wait ends. Returns its slot.
#[inline(always)]
fn ends_part(scene: &mut Scene, tally: &Tally, at: Instant, row: &mut Cpu) -> Option<u32> {
    let open = row.open.as_ref()?;
    let slot = open.witness()?;
    if !open.has_part_begun(at) {
        if row.parts.len() == MOST_PARTS {
            condense(scene, tally, row);
        }
        row.part(at, &scene.tasks.at(slot).origin.here);
    }
    name_parts(scene, row);
    Some(slot)
}

/// The witness in `slot` leaves. What was longest is remembered.
#[inline(never)]
fn remember(scene: &mut Scene, at: Instant, row: &mut Cpu, slot: u32) {
    let Some(open) = &mut row.open else { return };
    let Some(Left { first, longest: earlier, met }) = open.leaves(at) else { return };
    let Some((part, here)) = longest(earlier, &row.parts[first..]) else { return };
    let task = scene.tasks.at(slot);
    open.remember(seen(task, here, task.waste.waker(&here), part, met));
}
