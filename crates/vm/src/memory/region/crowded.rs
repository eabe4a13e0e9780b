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
}

impl Crowded {
    /// The line behind the last one.
    pub(super) const fn end(&self) -> u64 {
        self.lines.end
    }

    /// `cpu` has fetched `line`. `sharers` are those of all lines up to the end.
    pub(super) fn fetched(&mut self, line: u64, cpu: CpuId, sharers: &mut [u64], holders: &Holders) {
        if !self.lines.contains(&line) {
            return;
        }
        let (first, each, me) = (self.lines.start, self.crowds.len() as u64, holders.key(cpu).shared);
        let (task, which) = ((line - first) / each, (line - first) % each);
        let of = |task: u32| (first + u64::from(task) * each + which) as usize;
        let gone =
            self.crowds[which as usize].fetched(cpu, task as u32, |other| sharers[of(other)] & me != 0);
        if let Some(gone) = gone {
            let word = &mut sharers[of(gone)];
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
        self.crowded = crowds.map(|crowds| Crowded { lines, crowds });
    }
}
