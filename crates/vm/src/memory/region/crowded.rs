//! An array whose elements represent tasks' structures: its lines crowd each other out of caches, if the machine says
//! so.
//!
//! Emitted code moves most of these lines itself ([`RawCrowd`]): those that come from memory or from their last writer,
//! and take the place of another line.
#![allow(unsafe_code)]

use super::{BASE, Region};
use crate::memory::ReserveError;
use crate::memory::mapping::Mapping;
use keel_abi::CpuId;
use keel_abi::bpf::Ea;
use keel_abi::crowd::{Crowd, Set};
use keel_abi::holders::Holders;
use keel_abi::lines::{LineUse, Transfers};
use std::ops::Range;

/// The lines of such an array, numbered as all lines of the region are.
pub(super) struct Crowded {
    lines: Range<u64>,
    /// How many lines an element has.
    each: u32,
    crowd: Crowd,
    /// Several CPUs share a bit of a line's word: any of them may have lost any line.
    is_grouped: bool,
    memory_ps: u64,
    /// As [`RawCrowd::known`].
    known: Mapping,
}

/// What emitted code knows of such a line.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownLine {
    /// How often emitted code has moved it from memory. These moves are not in the line's [`Moved`](super::Moved), which
    /// would have to be found.
    pub(crate) from_memory: u64,
    /// The set of CPU 0's cache that the line maps to, behind which are those of the other CPUs; null before the engine
    /// has moved the line.
    pub(crate) set: *mut Set,
}

// Emitted code finds an entry by its place.
const _: () =
    assert!(size_of::<KnownLine>() == 1 << KnownLine::LOG2 && size_of::<Set>() == 1 << KnownLine::SET_LOG2);

impl KnownLine {
    /// The logarithms to base 2 of an entry's bytes, and of a set's.
    pub(crate) const LOG2: u32 = 4;
    pub(crate) const SET_LOG2: u32 = 6;
}

/// The lines that crowd each other, as emitted code sees them. The pointer is valid until other lines do.
#[derive(Clone, Copy, Debug)]
pub struct RawCrowd {
    /// The number of the first line.
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// For each of these lines; null if there are none.
    pub(crate) known: *mut KnownLine,
    /// The price of a line from memory.
    pub(crate) memory_ps: u64,
}

impl RawCrowd {
    /// No lines.
    pub(super) const NONE: Self = Self { first: 0, count: 0, known: std::ptr::null_mut(), memory_ps: 0 };

    /// The same for lines that are numbered from simulated address 0, if this is the number of the region's first one
    /// then.
    pub(crate) fn numbered_from_0(self, first_line: u64) -> Self {
        Self { first: self.first + first_line, ..self }
    }
}

impl Crowded {
    /// For lines of elements that have so many each; `None` if no line crowds another on such a machine.
    fn new(lines: Range<u64>, each: u32, transfers: &Transfers) -> Result<Option<Self>, ReserveError> {
        let Some(crowd) = transfers.crowd(each) else { return Ok(None) };
        let (is_grouped, memory_ps) = (transfers.holders().grouped(), transfers.memory_ps());
        let known = Mapping::new((lines.end - lines.start) << KnownLine::LOG2)?;
        Ok(Some(Self { lines, each, crowd, is_grouped, memory_ps, known }))
    }

    /// The view that emitted code needs.
    pub(super) fn raw(&self) -> RawCrowd {
        let Range { start, end } = self.lines;
        let known = self.known.start().as_ptr().cast();
        RawCrowd { first: start, count: end - start, known, memory_ps: self.memory_ps }
    }

    /// The line behind the last one.
    pub(super) const fn end(&self) -> u64 {
        self.lines.end
    }

    /// Returns whether emitted code may move lines. One that comes for nothing would not count as a move.
    const fn is_emitted(&self) -> bool {
        !self.is_grouped && self.memory_ps > 0
    }

    /// What emitted code knows of a line, by its number among these.
    fn known(&self, line: u32) -> *mut KnownLine {
        assert!(u64::from(line) < self.lines.end - self.lines.start, "it is one of these lines");
        self.known.start().as_ptr().cast::<KnownLine>().wrapping_add(line as usize)
    }

    /// The number of a line among these.
    fn number(&self, line: u64) -> Option<u32> {
        let number = line.wrapping_sub(self.lines.start);
        (number < self.lines.end - self.lines.start).then_some(number as u32)
    }

    /// The set of CPU 0's cache that a line maps to, by its number.
    #[inline]
    fn set(&mut self, line: u32) -> *mut Set {
        // SAFETY: it is the entry of a line, and emitted code, which uses it, is not running.
        let set = unsafe { (*self.known(line)).set };
        if set.is_null() { self.find_set(line) } else { set }
    }

    #[inline(never)]
    fn find_set(&mut self, line: u32) -> *mut Set {
        let set = self.crowd.set_of(line / self.each, line % self.each);
        let set = self.crowd.address(set);
        if self.is_emitted() {
            // SAFETY: as in `set`.
            unsafe { (*self.known(line)).set = set };
        }
        set
    }

    /// The CPUs with these bits have lost `line`.
    pub(super) fn lost(&mut self, line: u64, by: u64) {
        let Some(line) = self.number(line).filter(|_| !self.is_grouped) else { return };
        let set = self.set(line);
        let mut left = by;
        while left != 0 {
            // SAFETY: there is a set for each CPU, no reference to one is alive, and emitted code is not running.
            unsafe { (*set.add(left.trailing_zeros() as usize)).lose(line) };
            left &= left - 1;
        }
    }

    /// `cpu` has fetched `line`. `sharers` are those of all lines up to the end.
    #[inline]
    pub(super) fn fetched(&mut self, line: u64, cpu: CpuId, sharers: &mut [u64], holders: &Holders) {
        let Some(line) = self.number(line) else { return };
        let sharers = &mut sharers[self.lines.start as usize..];
        // SAFETY: as in `lost`.
        let set = unsafe { &mut *self.set(line).add(cpu.index()) };
        let gone = match self.is_grouped {
            true => {
                let me = holders.key(cpu).shared;
                set.fetched(line, |other| sharers[other as usize] & me != 0)
            }
            false => set.put(line),
        };
        if let Some(gone) = gone {
            let word = &mut sharers[gone as usize];
            *word = holders.without(*word, cpu);
        }
    }

    /// The moves of a line that emitted code has counted.
    pub(super) fn counted(&self, line: u64) -> LineUse {
        let Some(line) = self.number(line) else { return LineUse::default() };
        // SAFETY: it is the entry of a line, and nobody changes it during this call.
        let moves = unsafe { (*self.known(line)).from_memory };
        LineUse { moves, stall_ps: moves * self.memory_ps }
    }
}

impl Region {
    /// Declares that the elements of `size` bytes each, in `len` bytes from `at` on, represent tasks' structures. They
    /// must begin at a line and consist of whole lines; otherwise, or out of bounds, nothing crowds.
    ///
    /// # Errors
    /// Fails if the host provides no address space.
    pub(crate) fn crowd(&mut self, at: Ea, len: u64, size: u64) -> Result<(), ReserveError> {
        let bytes = 1 << self.transfers.line_log2();
        let off = at.0.wrapping_sub(BASE);
        let fits = [off, len, size].iter().all(|n| n % bytes == 0) && size > 0;
        if let Some(crowded) = self.crowded.take() {
            self.moves.add(|line| crowded.counted(line));
        }
        if fits && self.inside(at, len).is_some() {
            let lines = self.line_at(off)..self.line_at(off + len / size * size);
            self.crowded = Crowded::new(lines, (size / bytes) as u32, &self.transfers)?;
        }
        Ok(())
    }
}
