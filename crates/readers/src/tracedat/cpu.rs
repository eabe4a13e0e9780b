//! Reads one CPU's pages, one after the other, and their events.

use super::compress::{Compression, chunk};
use super::page::{Head, Page};
use crate::ReadError;
use crate::formats::Order;
use crate::source::Damage;
use std::io::{Read, Seek, SeekFrom};

/// The common properties of all CPUs' pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages {
    pub(super) order: Order,
    pub(super) size: usize,
    pub(super) head: Head,
    /// How pages are packed into chunks.
    pub(super) compression: Option<Compression>,
    /// The largest chunk that is accepted, unpacked.
    pub(super) chunk: usize,
    /// The number of bytes that one CPU's chunks may have in addition to [`RATIO`] times the packed bytes.
    pub(super) slack: u64,
    /// Converts the clock's ticks to nanoseconds.
    pub(super) clock: Clock,
}

/// The best compression ratio of chunks of real pages, except small ones.
const RATIO: u64 = 200;

/// Converts ticks to nanoseconds: `((ticks - offset) * mult) >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) mult: u64,
    pub(super) shift: u32,
    pub(super) offset: u64,
}

impl Clock {
    /// Nanoseconds, unchanged.
    pub(super) const NANOSECONDS: Self = Self { mult: 1, shift: 0, offset: 0 };

    #[inline]
    fn ns(self, ticks: u64) -> u64 {
        if self == Self::NANOSECONDS {
            return ticks;
        }
        let ns = (u128::from(ticks.saturating_sub(self.offset)) * u128::from(self.mult)) >> self.shift;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// An event of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: u64,
    /// The number of events that were lost just before.
    pub(super) lost: u64,
    /// Whether it is this CPU's first.
    pub(super) begins: bool,
    from: usize,
    length: usize,
}

/// One CPU's part of the file.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    pub(super) number: u32,
    pages: Pages,
    /// The offset of the next page or chunk in the file, and the remaining bytes.
    offset: u64,
    left: u64,
    /// The number of remaining chunks.
    chunks: Option<u32>,
    /// The number of bytes of chunks so far, packed and unpacked.
    packed: u64,
    unpacked: u64,
    /// One page, or one chunk of them.
    bytes: Vec<u8>,
    /// The offset of the current page in it.
    start: usize,
    page: Option<Page>,
    begun: bool,
    lost: u64,
}

impl Cpu {
    pub(super) fn new(number: u32, pages: Pages, offset: u64, size: u64) -> Self {
        Self {
            number,
            pages,
            offset,
            left: size,
            chunks: None,
            packed: 0,
            unpacked: 0,
            bytes: Vec::new(),
            start: 0,
            page: None,
            begun: false,
            lost: 0,
        }
    }

    /// Returns the offset in the file of the end of the current page, or of its chunk.
    pub(super) fn place(&self) -> u64 {
        self.offset
    }

    /// Returns the bytes of an event, which must be the last one from [`next`](Self::next).
    pub(super) fn bytes(&self, entry: &Entry) -> Option<&[u8]> {
        self.bytes.get(self.start + entry.from..self.start + entry.from + entry.length)
    }

    /// Returns the next event, or `None` after the last.
    pub(super) fn next<R: Read + Seek>(
        &mut self,
        file: &mut R,
        damage: &mut Damage,
    ) -> Result<Option<Entry>, ReadError> {
        loop {
            if let Some(page) = &mut self.page {
                let end = (self.start + self.pages.size).min(self.bytes.len());
                match page.next(&self.bytes[self.start..end], self.pages.order) {
                    Ok(Some(found)) => {
                        let begins = !std::mem::replace(&mut self.begun, true);
                        let (at, lost) = (self.pages.clock.ns(found.time), std::mem::take(&mut self.lost));
                        return Ok(Some(Entry { at, lost, begins, from: found.from, length: found.length }));
                    }
                    Ok(None) => self.page = None,
                    Err(why) => {
                        damage.skip(self.offset, why);
                        self.page = None;
                    }
                }
            }
            if !self.turn(file, damage)? {
                return Ok(None);
            }
        }
    }

    /// Goes to the next page. Returns false if there is none.
    fn turn<R: Read + Seek>(&mut self, file: &mut R, damage: &mut Damage) -> Result<bool, ReadError> {
        self.start += self.pages.size;
        if self.start >= self.bytes.len() {
            self.start = 0;
            if !self.load(file, damage)? {
                self.bytes = Vec::new();
                return Ok(false);
            }
        }
        let end = (self.start + self.pages.size).min(self.bytes.len());
        self.page = Page::begin(&self.bytes[self.start..end], self.pages.head, self.pages.order);
        match &self.page {
            Some(page) => self.lost = self.lost.saturating_add(page.lost),
            None => damage.skip(self.offset, "a page of a ring buffer makes no sense"),
        }
        Ok(true)
    }

    /// Loads the next page or chunk.
    fn load<R: Read + Seek>(&mut self, file: &mut R, damage: &mut Damage) -> Result<bool, ReadError> {
        if self.left == 0 || self.offset > i64::MAX as u64 {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let Some(compression) = self.pages.compression else {
            let size = self.left.min(self.pages.size as u64);
            self.bytes.clear();
            file.by_ref().take(size).read_to_end(&mut self.bytes)?;
            self.pass(self.bytes.len() as u64);
            if (self.bytes.len() as u64) < size {
                damage.end(self.offset, "the file is cut off");
                self.left = 0;
            }
            return Ok(!self.bytes.is_empty());
        };
        let mut from = file.by_ref().take(self.left);
        if self.chunks.is_none() {
            let mut count = [0; 4];
            let read = from.read_exact(&mut count);
            self.chunks = Some(if read.is_ok() { self.pages.order.u32(count) } else { 0 });
            self.pass(4);
        }
        let chunks = self.chunks.get_or_insert(0);
        if *chunks == 0 {
            return Ok(false);
        }
        *chunks -= 1;
        let mut from = file.by_ref().take(self.left);
        match chunk(&mut from, compression, self.pages.order, self.pages.chunk) {
            Ok((bytes, packed)) => {
                self.packed += packed;
                self.unpacked += bytes.len() as u64;
                if self.unpacked > self.packed * RATIO + self.pages.slack {
                    damage.end(self.offset, "compressed data is larger than any that trace-cmd writes");
                    self.left = 0;
                    return Ok(false);
                }
                self.bytes = bytes;
                self.pass(packed);
                Ok(!self.bytes.is_empty())
            }
            Err(why) => {
                damage.end(self.offset, why);
                self.left = 0;
                Ok(false)
            }
        }
    }

    fn pass(&mut self, bytes: u64) {
        self.offset = self.offset.saturating_add(bytes);
        self.left = self.left.saturating_sub(bytes);
    }
}
