//! Reads the events of one page of a ring buffer (`struct buffer_data_page`).
//!
//! A page begins with a time and the size of its used part. Each event begins with a word: its kind or length in five
//! bits, and in the others the time since the event before it.

use crate::formats::{Description, Order, u32_at, u64_at};

/// In the word with the used size: the size, whether events were lost before, and whether their number is known.
const USED: u64 = (1 << 27) - 1;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

/// Kinds of events other than those with data (`enum ring_buffer_type`).
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The bits of a time that fit into an event's word.
const TIME_BITS: u32 = 27;
/// The bits of an absolute time that a page's own time has to add (`TS_MSB`).
const HIGH_BITS: u64 = 0xf8 << 56;

/// The places of the parts of a page's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    used_at: usize,
    used_size: usize,
    pub(super) data_at: usize,
}

impl Head {
    /// Reads the places from the file's own description.
    pub(super) fn of(page: &Description) -> Option<Self> {
        let (used, data) = (page.field("commit")?, page.field("data")?);
        let fits =
            page.field("timestamp")?.offset == 0 && (used.size == 4 || used.size == 8) && data.offset < 256;
        fits.then_some(Self { used_at: used.offset, used_size: used.size, data_at: data.offset })
    }
}

/// The position in a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Page {
    /// The next event.
    at: usize,
    /// Where the used part ends.
    end: usize,
    time: u64,
    /// The number of events that were lost before this page's first.
    pub(super) lost: u64,
}

/// An event with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) time: u64,
    pub(super) from: usize,
    pub(super) length: usize,
}

impl Page {
    /// Begins a page. Returns `None` if it has no header, or a used size beyond its end.
    pub(super) fn begin(bytes: &[u8], head: Head, order: Order) -> Option<Self> {
        let time = u64_at(bytes, 0, order)?;
        let word = match head.used_size {
            4 => u32_at(bytes, head.used_at, order)?.into(),
            _ => u64_at(bytes, head.used_at, order)?,
        };
        let end = head.data_at + (word & USED) as usize;
        if end > bytes.len() {
            return None;
        }
        let stored = match head.used_size {
            4 => u32_at(bytes, end, order).map(u64::from),
            _ => u64_at(bytes, end, order),
        };
        let lost = match (word & MISSED != 0, word & MISSED_STORED != 0) {
            (true, true) => stored.filter(|&lost| lost > 0).unwrap_or(1),
            (true, false) => 1,
            (false, _) => 0,
        };
        Some(Self { at: head.data_at, end, time, lost })
    }

    /// Returns the next event, or `None` after the last. Fails if the page is invalid from here on.
    pub(super) fn next(&mut self, bytes: &[u8], order: Order) -> Result<Option<Found>, &'static str> {
        let bytes = &bytes[..self.end.min(bytes.len())];
        while self.at + 4 <= bytes.len() {
            let word = u32_at(bytes, self.at, order).ok_or("an event is cut off")?;
            let (kind, delta) = match order {
                Order::Little => (word & 31, u64::from(word >> 5)),
                Order::Big => (word >> TIME_BITS, u64::from(word & ((1 << TIME_BITS) - 1))),
            };
            let second = || u32_at(bytes, self.at + 4, order).ok_or("an event is cut off");
            match kind {
                PADDING if delta == 0 => break,
                PADDING => {
                    let skipped = second()? as usize;
                    self.time = self.time.saturating_add(delta);
                    self.at += 4 + skipped.max(4);
                }
                TIME_EXTEND => {
                    self.time = self.time.saturating_add((u64::from(second()?) << TIME_BITS) + delta);
                    self.at += 8;
                }
                TIME_STAMP => {
                    let low = (u64::from(second()?) << TIME_BITS) + delta;
                    self.time = low | (self.time & HIGH_BITS);
                    self.at += 8;
                }
                kind => {
                    let (from, length) = match kind {
                        0 => (
                            self.at + 8,
                            (second()? as usize).checked_sub(4).ok_or("an event has no length")?,
                        ),
                        words => (self.at + 4, words as usize * 4),
                    };
                    if from + length > bytes.len() {
                        return Err("an event is longer than its page");
                    }
                    self.time = self.time.saturating_add(delta);
                    self.at = from + length.next_multiple_of(4);
                    return Ok(Some(Found { time: self.time, from, length }));
                }
            }
        }
        Ok(None)
    }
}
