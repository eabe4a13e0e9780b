//! An array whose elements represent tasks' structures: its lines crowd each other out of caches, if the machine says
//! so.

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
    /// By crowd and set: the CPUs that may have lost a line of it to others.
    lost: Vec<u64>,
    places: Vec<Place>,
}

/// A line's place in its element, and in a cache.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Which of the element's lines it is.
    which: u32,
    /// The distance in lines from the same line of the first element.
    behind: u32,
    /// Its cache set, and the set's index in [`Crowded::lost`].
    set: u32,
    lost: u32,
}

impl Crowded {
    /// `crowds` has one for each line of an element.
    /// `grouped` says that several CPUs share a bit of a line's word: any of them may have lost any line.
    fn new(lines: Range<u64>, crowds: Vec<Crowd>, grouped: bool) -> Self {
        let each = crowds.len() as u32;
        let sets = crowds.first().map_or(0, Crowd::sets);
        let place = |line: u32| {
            let (task, which) = (line / each, line % each);
            let set = crowds[which as usize].set_of(task);
            Place { which, behind: line - which, set, lost: which * sets + set }
        };
        let places = (0..(lines.end - lines.start) as u32).map(place).collect();
        let lost = vec![if grouped { u64::MAX } else { 0 }; (each * sets) as usize];
        Self { places, lost, lines, crowds }
    }

    /// The number of the first line, and the count.
    pub(super) fn extent(&self) -> (u64, u64) {
        (self.lines.start, self.lines.end - self.lines.start)
    }

    /// The line behind the last one.
    pub(super) const fn end(&self) -> u64 {
        self.lines.end
    }

    fn place(&self, line: u64) -> Option<Place> {
        self.places.get(line.wrapping_sub(self.lines.start) as usize).copied()
    }

    /// The CPUs with these bits have lost `line`.
    pub(super) fn lost(&mut self, line: u64, by: u64) {
        if let Some(place) = self.place(line) {
            self.lost[place.lost as usize] |= by;
        }
    }

    /// `cpu` has fetched `line`. `sharers` are those of all lines up to the end.
    #[inline]
    pub(super) fn fetched(&mut self, line: u64, cpu: CpuId, sharers: &mut [u64], holders: &Holders) {
        let Some(Place { which, behind, set, lost }) = self.place(line) else { return };
        let me = holders.key(cpu).shared;
        let sharers = &mut sharers[self.lines.start as usize + which as usize..];
        // Usually it has all lines of the set, and no check is needed.
        let gone = match self.lost[lost as usize] & me {
            0 => self.crowds[which as usize].replaced(cpu, set, behind),
            _ => None,
        };
        let gone = match gone {
            Some(gone) => gone,
            None => match self.fetched_rarely(line, cpu, sharers, holders) {
                Some(gone) => gone,
                None => return,
            },
        };
        let word = &mut sharers[gone as usize];
        *word = holders.without(*word, cpu);
    }

    /// The line to evict if some were lost, or if there is still room.
    #[inline(never)]
    fn fetched_rarely(&mut self, line: u64, cpu: CpuId, sharers: &[u64], holders: &Holders) -> Option<u32> {
        let Place { which, behind, set, lost } = self.place(line)?;
        let me = holders.key(cpu).shared;
        let holds = |other: u32| sharers[other as usize] & me != 0;
        let crowd = &mut self.crowds[which as usize];
        let gone = crowd.fetched(cpu, set, behind, holds);
        if !holders.grouped() && !crowd.has_lost(cpu, set, holds) {
            self.lost[lost as usize] &= !me;
        }
        gone
    }
}

impl Region {
    /// Declares that the elements of `size` bytes each, in `len` bytes from `at` on, represent tasks' structures. They
    /// must begin at a line and consist of whole lines; otherwise, or out of bounds, nothing crowds.
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
        let grouped = self.transfers.holders().grouped();
        self.crowded = crowds.map(|crowds| Crowded::new(lines, crowds, grouped));
    }
}
