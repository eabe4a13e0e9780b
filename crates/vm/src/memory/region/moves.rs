//! The state of each line that has moved: how often, at which cost, and when it arrives.
//!
//! Every move is counted, so a line finds its entry by its number alone, without a search. Emitted code does the same
//! ([`RawMoves`]). A line that a CPU holds has an entry, even if it has not moved yet.
#![allow(unsafe_code)]

use crate::memory::ReserveError;
use crate::memory::mapping::Mapping;
use keel_abi::lines::{InTransit, LineUse};

/// A line that moved.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    line: u64,
    /// How often it moved, and how long CPUs waited for that in picoseconds: a [`LineUse`].
    pub(crate) times: u64,
    pub(crate) stall_ps: u64,
    /// On its way for an atomic instruction.
    pub(crate) transit: InTransit,
}

// Emitted code finds an entry by its place.
const _: () = assert!(size_of::<Moved>() == 1 << Moved::LOG2);

impl Moved {
    /// The logarithm to base 2 of an entry's bytes.
    pub(crate) const LOG2: u32 = 5;

    /// A place is this multiple of an entry's number, so that a processor's largest scale makes it an offset.
    pub(crate) const PLACES: u32 = 4;

    /// How many entries there can be.
    const MOST: u64 = (u32::MAX / Self::PLACES) as u64;

    /// The bytes of the state of this many lines.
    pub(super) fn bytes(lines: u64) -> u64 {
        lines * size_of::<u32>() as u64 + lines.min(Self::MOST) * size_of::<Self>() as u64
    }

    /// Counts a move with this price.
    #[inline]
    pub(super) fn count(&mut self, price_ps: u64) {
        self.times += 1;
        self.stall_ps += price_ps;
    }
}

/// The entries, as emitted code sees them.
#[derive(Clone, Copy, Debug)]
pub struct RawMoves {
    /// For each line of the region a 32-bit number: its index among the entries, from 1, times [`Moved::PLACES`]; 0 for
    /// a line that no CPU has held.
    pub(crate) places: *const u32,
    /// The first entry.
    pub(crate) first: *mut Moved,
}

impl RawMoves {
    /// The same for lines that are numbered from simulated address 0, if this is the number of the first one then.
    pub(crate) fn numbered_from_0(self, first_line: u64) -> Self {
        Self { places: self.places.wrapping_sub(first_line as usize), ..self }
    }
}

/// All lines that moved.
pub(super) struct Moves {
    /// As in [`RawMoves`].
    places: Mapping,
    lines: u64,
    /// The entries, one after the other. There is room for all that there can be, so they never move.
    entries: Mapping,
    /// How many there are.
    count: u32,
}

impl Moves {
    /// For this many lines, none of which has moved.
    ///
    /// # Errors
    /// The host provides no address space.
    pub(super) fn new(lines: u64) -> Result<Self, ReserveError> {
        let places = Mapping::new(lines * size_of::<u32>() as u64)?;
        let entries = Mapping::new(lines.min(Moved::MOST) * size_of::<Moved>() as u64)?;
        Ok(Self { places, lines, entries, count: 0 })
    }

    /// The view that emitted code needs. Its pointers are valid as long as `self`.
    pub(super) fn raw(&self) -> RawMoves {
        RawMoves { places: self.places.start().as_ptr().cast(), first: self.first() }
    }

    fn first(&self) -> *mut Moved {
        self.entries.start().as_ptr().cast()
    }

    /// The entry of a line; a new one is all zero.
    #[inline]
    pub(super) fn of(&mut self, line: u64) -> &mut Moved {
        assert!(line < self.lines, "the line is one of the region's");
        // SAFETY: the table has a number for each line, and nobody else has a reference into it.
        let place = unsafe { &mut *self.places.start().as_ptr().cast::<u32>().add(line as usize) };
        if *place == 0 {
            *place = self.next_place(line);
        }
        // SAFETY: a line's place is that of one of the entries, and no reference to one is alive.
        unsafe { &mut *self.first().add((*place / Moved::PLACES) as usize - 1) }
    }

    /// The entry of a line, if it has one.
    #[inline]
    pub(super) fn known(&mut self, line: u64) -> Option<&mut Moved> {
        assert!(line < self.lines, "the line is one of the region's");
        // SAFETY: as in `of`.
        unsafe {
            let place = *self.places.start().as_ptr().cast::<u32>().add(line as usize);
            (place != 0).then(|| &mut *self.first().add((place / Moved::PLACES) as usize - 1))
        }
    }

    /// The place of a new entry, for this line.
    #[cold]
    #[inline(never)]
    fn next_place(&mut self, line: u64) -> u32 {
        let entry = Moved { line, times: 0, stall_ps: 0, transit: InTransit::default() };
        assert!(u64::from(self.count) < self.lines.min(Moved::MOST), "fewer lines move than 32 bits count");
        // SAFETY: there is room for as many, and nobody has a reference to a new one.
        unsafe { self.first().add(self.count as usize).write(entry) };
        self.count += 1;
        self.count * Moved::PLACES
    }

    /// The lines by number, and the cost of their moves, including those of each line that were counted `elsewhere`.
    pub(super) fn sorted(&self, elsewhere: impl Fn(u64) -> LineUse) -> Vec<(u64, LineUse)> {
        let uses = |moved: &Moved| {
            let others = elsewhere(moved.line);
            LineUse { moves: moved.times + others.moves, stall_ps: moved.stall_ps + others.stall_ps }
        };
        // SAFETY: the entries exist, and nobody has a reference to one of them or changes it during this call.
        let moved = unsafe { std::slice::from_raw_parts(self.first(), self.count as usize) };
        let all = moved.iter().map(|moved| (moved.line, uses(moved)));
        let mut all: Vec<_> = all.filter(|(_, uses)| uses.moves > 0).collect();
        all.sort_unstable_by_key(|(line, _)| *line);
        all
    }

    /// Adds to each line's moves those that were counted `elsewhere`.
    pub(super) fn add(&mut self, elsewhere: impl Fn(u64) -> LineUse) {
        for (line, uses) in self.sorted(elsewhere) {
            let moved = self.of(line);
            (moved.times, moved.stall_ps) = (uses.moves, uses.stall_ps);
        }
    }
}
