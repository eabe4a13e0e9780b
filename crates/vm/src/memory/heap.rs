//! The places of small objects: size classes, each with a list of freed places, the last freed first.
//!
//! The heap works with offsets and touches no memory. A class takes spans of 64 KiB and divides them into places of one
//! size; one bit per place says whether it is taken, so that an invalid free is detected.

/// Bytes of a span.
pub(super) const SPAN_BYTES: u64 = 64 << 10;
/// The largest object that the heap accepts.
pub(super) const MAX_SMALL: u64 = 32 << 10;
const CLASSES: usize = 44;

/// Rounds up to the size of a class; returns the class's number and size. `len` is at least 1 and at most
/// [`MAX_SMALL`].
fn class_of(len: u64) -> (usize, u64) {
    if len <= 64 {
        let size = len.next_multiple_of(8);
        return ((size / 8 - 1) as usize, size);
    }
    // Four steps between powers of two, and whole cache lines: 128, 192, 256, 320, ...
    let power = (len - 1).ilog2();
    let step = (1 << (power - 2)).max(64);
    let size = len.next_multiple_of(step);
    let class = 8 + u64::from(power - 6) * 4 + (size - (1 << power)) / step - 1;
    (class as usize, size)
}

#[derive(Default)]
struct Class {
    /// Freed places in units of 8 bytes, so that 32 bits reach 32 GiB.
    free: Vec<u32>,
    /// Places of the newest span that were never used.
    fresh: u64,
    fresh_end: u64,
}

struct Span {
    size: u64,
    class: usize,
    /// 2^32 / `size`, rounded up: exact for offsets within a span.
    reciprocal: u64,
    taken: Box<[u64]>,
}

/// The places of the heap zone.
pub(super) struct Heap {
    start: u64,
    end: u64,
    spans: Vec<Span>,
    classes: [Class; CLASSES],
}

impl Heap {
    /// A heap over the offsets from `start`, a multiple of 64, to `end`.
    pub(super) fn new(start: u64, end: u64) -> Self {
        Self { start, end, spans: Vec::new(), classes: std::array::from_fn(|_| Class::default()) }
    }

    /// Returns whether it is still empty.
    pub(super) fn is_unused(&self) -> bool {
        self.spans.is_empty()
    }

    /// A place for an object: its offset and its size; `None` if the zone is full.
    pub(super) fn alloc(&mut self, len: u64) -> Option<(u64, u64)> {
        let (class, size) = class_of(len);
        let off = match self.classes[class].free.pop() {
            Some(units) => u64::from(units) * 8,
            None => self.fresh_place(class, size)?,
        };
        let (span, word, bit) = self.bit_of(off)?;
        self.spans[span].taken[word] |= bit;
        Some((off, size))
    }

    fn fresh_place(&mut self, class: usize, size: u64) -> Option<u64> {
        if self.classes[class].fresh == self.classes[class].fresh_end {
            let off = self.start + self.spans.len() as u64 * SPAN_BYTES;
            if off + SPAN_BYTES > self.end {
                return None;
            }
            let places = SPAN_BYTES / size;
            let reciprocal = (1_u64 << 32).div_ceil(size);
            let taken = vec![0; places.div_ceil(64) as usize].into();
            self.spans.push(Span { size, class, reciprocal, taken });
            self.classes[class].fresh = off;
            self.classes[class].fresh_end = off + places * size;
        }
        let off = self.classes[class].fresh;
        self.classes[class].fresh += size;
        Some(off)
    }

    /// Ends the object at `off`; false if none begins there.
    pub(super) fn free(&mut self, off: u64) -> bool {
        let Some((span, word, bit)) = self.bit_of(off) else { return false };
        if self.spans[span].taken[word] & bit == 0 {
            return false;
        }
        self.spans[span].taken[word] &= !bit;
        self.classes[self.spans[span].class].free.push((off / 8) as u32);
        true
    }

    /// The span of a place, and its bit; `None` if no place begins there.
    fn bit_of(&self, off: u64) -> Option<(usize, usize, u64)> {
        let within = off.checked_sub(self.start)?;
        let number = (within / SPAN_BYTES) as usize;
        let span = self.spans.get(number)?;
        let within = within % SPAN_BYTES;
        let place = (within * span.reciprocal) >> 32;
        let word = (place / 64) as usize;
        let begins = place * span.size == within && within + span.size <= SPAN_BYTES;
        begins.then_some((number, word, 1 << (place % 64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_ascend_and_waste_at_most_a_quarter() {
        let mut last = (0, 8);
        for len in 1..=MAX_SMALL {
            let (class, size) = class_of(len);
            assert!(size >= len && size % if len < 57 { 8 } else { 64 } == 0, "{len}: {size}");
            assert!(len < 257 || (size - len) * 4 <= len, "{len}: {size}");
            assert_eq!(class > last.0, size > last.1, "{len}: class {class} after {}", last.0);
            assert_eq!(class_of(size), (class, size));
            last = (class, size);
        }
        assert_eq!(last, (CLASSES - 1, MAX_SMALL));
    }
}
