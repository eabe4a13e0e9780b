//! An array of which each element stands for a task's structure: its lines crowd each other out of caches, where the machine
//! says so.

use super::{BASE, Region};
use keel_abi::CpuId;
use keel_abi::bpf::Ea;
use keel_abi::crowd::Crowd;
use keel_abi::holders::Holders;
use std::ops::Range;

/// The lines of such an array, numbered as all lines of the region are.
#[derive(Debug)]
pub(super) struct Crowded {
    lines: Range<u64>,
    /// One for each line of an element.
    crowds: Vec<Crowd>,
    places: Vec<Place>,
}

/// Where a line is in its element, and in a cache.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Which of the element's lines it is.
    which: u32,
    /// How many lines after the same one of the first element.
    behind: u32,
    /// The set that it falls into.
    set: u32,
}

impl Crowded {
    /// `crowds` has one for each line of an element.
    fn new(lines: Range<u64>, crowds: Vec<Crowd>) -> Self {
        let each = crowds.len() as u32;
        let place = |line: u32| {
            let (task, which) = (line / each, line % each);
            Place { which, behind: line - which, set: crowds[which as usize].set_of(task) }
        };
        let places = (0..(lines.end - lines.start) as u32).map(place).collect();
        Self { places, lines, crowds }
    }

    /// The number of the first line, and how many there are.
    pub(super) fn extent(&self) -> (u64, u64) {
        (self.lines.start, self.lines.end - self.lines.start)
    }

    /// The line behind the last one.
    pub(super) const fn end(&self) -> u64 {
        self.lines.end
    }

    /// `cpu` has fetched `line`. `sharers` are those of all lines up to the end.
    pub(super) fn fetched(&mut self, line: u64, cpu: CpuId, sharers: &mut [u64], holders: &Holders) {
        let at = line.wrapping_sub(self.lines.start) as usize;
        let Some(&Place { which, behind, set }) = self.places.get(at) else { return };
        let me = holders.key(cpu).shared;
        let sharers = &mut sharers[self.lines.start as usize + which as usize..];
        let holds = |other: u32| sharers[other as usize] & me != 0;
        if let Some(gone) = self.crowds[which as usize].fetched(cpu, set, behind, holds) {
            let word = &mut sharers[gone as usize];
            *word = holders.without(*word, cpu);
        }
    }
}

impl Region {
    /// Says that the elements of `size` bytes each, in `len` bytes from `at` on, stand for tasks' structures. They begin at
    /// a line and have whole ones; where not, or out of bounds, nothing crowds.
    pub(crate) fn crowd(&mut self, at: Ea, len: u64, size: u64) {
        let bytes = 1 << self.transfers.line_log2();
        let off = at.0.wrapping_sub(BASE);
        let fits = [off, len, size].iter().all(|n| n % bytes == 0) && size > 0;
        self.crowded = None;
        if !fits || self.inside(at, len).is_none() {
            return;
        }
        let crowds: Option<Vec<Crowd>> = (0..size / bytes).map(|_| self.transfers.crowd()).collect();
        let lines = self.line_at(off)..self.line_at(off + len / size * size);
        self.crowded = crowds.map(|crowds| Crowded::new(lines, crowds));
    }
}
