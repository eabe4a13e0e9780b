//! Reads the records of a perf.data file, one after the other, including those in compressed records.

use super::layout::Layout;
use crate::ReadError;
use crate::ahead::Ahead;
use crate::formats::{Order, u16_at, u32_at, u64_at};
use crate::source::Damage;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

/// Kinds of records: the kernel's (`PERF_RECORD_*`), and perf's own from 64 on.
pub(super) mod kind {
    pub(in super::super) const LOST: u32 = 2;
    pub(in super::super) const COMM: u32 = 3;
    pub(in super::super) const SAMPLE: u32 = 9;
    pub(in super::super) const LOST_SAMPLES: u32 = 13;
    pub(in super::super) const HEADER_ATTR: u32 = 64;
    pub(in super::super) const HEADER_TRACING_DATA: u32 = 66;
    pub(in super::super) const FINISHED_ROUND: u32 = 68;
    pub(in super::super) const AUXTRACE: u32 = 71;
    pub(in super::super) const HEADER_FEATURE: u32 = 80;
    pub(in super::super) const COMPRESSED: u32 = 81;
    pub(in super::super) const COMPRESSED2: u32 = 83;
}

const HEAD: usize = 8;
/// The number of bytes that are decompressed at a time.
const CHUNK: usize = 128 * 1024;
/// The log2 of the largest accepted window of a compressed stream: 64 MiB.
const WINDOW_LOG: u32 = 26;
/// The best compression ratio of records.
const RATIO: u64 = 100;
/// The number of bytes that are allowed in addition.
const SLACK: u64 = 16 << 20;
/// The longest description of events from a pipe.
const LONGEST_PAYLOAD: u64 = 64 << 20;

/// One record, which is valid until the next one is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    /// Its offset in the file; for a compressed one, the offset of its compressed record.
    pub(super) at: u64,
    pub(super) kind: u32,
    pub(super) body: &'a [u8],
    /// For records with descriptions of events: the data after them, instead of a body.
    pub(super) payload: &'a [u8],
}

/// A record's header, and the place of its body.
#[derive(Clone, Debug)]
struct Head {
    at: u64,
    kind: u32,
    body: Range<usize>,
}

/// The records.
pub(super) struct Stream<R> {
    from: Ahead<R>,
    order: Order,
    at: u64,
    left: u64,
    zstd: Option<Zstd>,
    payload: Vec<u8>,
}

/// The compressed part of the stream.
struct Zstd {
    context: DCtx<'static>,
    /// Input that is not decompressed yet.
    input: Vec<u8>,
    taken: usize,
    /// Output that is not passed on yet.
    output: Vec<u8>,
    given: usize,
    at: u64,
    /// The number of bytes so far, packed and unpacked.
    packed: u64,
    unpacked: u64,
}

impl<R: Read + Seek> Stream<R> {
    /// Returns the records of a file with this layout.
    pub(super) fn open(mut file: R, layout: &Layout) -> Result<Self, ReadError> {
        file.seek(SeekFrom::Start(layout.data_offset.min(i64::MAX as u64)))?;
        let from = Ahead::new(file);
        let (at, left) = (layout.data_offset, layout.data_size);
        Ok(Self { from, order: layout.order, at, left, zstd: None, payload: Vec::new() })
    }

    /// Returns the records of a file that contains nothing else, next to one with this layout.
    pub(super) fn bare(mut file: R, layout: &Layout) -> Result<Self, ReadError> {
        let left = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { from: Ahead::new(file), order: layout.order, at: 0, left, zstd: None, payload: Vec::new() })
    }

    /// Returns the next record, or `None` at the end or if the file can't be read further.
    #[inline]
    pub(super) fn next(&mut self, damage: &mut Damage) -> Result<Option<Record<'_>>, ReadError> {
        loop {
            if self.zstd.is_some() {
                match self.unpacked(damage)? {
                    Unpacked::Record(head) => {
                        let body = self.zstd.as_ref().map_or(&[][..], |zstd| &zstd.output[head.body.clone()]);
                        return Ok(Some(Record { at: head.at, kind: head.kind, body, payload: &[] }));
                    }
                    Unpacked::Wrong => return Ok(None),
                    Unpacked::None => {}
                }
            }
            let Some(head) = self.plain(damage)? else { return Ok(None) };
            match head.kind {
                kind::COMPRESSED | kind::COMPRESSED2 => self.compressed(&head, damage),
                kind::AUXTRACE => self.skip(&head)?,
                kind::HEADER_TRACING_DATA => {
                    let is_whole = self.payload(&head, damage)?;
                    let record = Record { at: head.at, kind: head.kind, body: &[], payload: &self.payload };
                    return Ok(is_whole.then_some(record));
                }
                kind => {
                    let body = self.from.passed(head.body);
                    return Ok(Some(Record { at: head.at, kind, body, payload: &[] }));
                }
            }
        }
    }

    /// Returns the next record of those that were compressed.
    fn unpacked(&mut self, damage: &mut Damage) -> Result<Unpacked, ReadError> {
        let Some(zstd) = &mut self.zstd else { return Ok(Unpacked::None) };
        Ok(match zstd.next(self.order) {
            Ok(Some(head)) => Unpacked::Record(head),
            Ok(None) => Unpacked::None,
            Err(why) => {
                damage.end(zstd.at, why);
                Unpacked::Wrong
            }
        })
    }

    /// Returns the next record of the file itself.
    #[inline]
    fn plain(&mut self, damage: &mut Damage) -> Result<Option<Head>, ReadError> {
        if self.left == 0 {
            return Ok(None);
        }
        let (at, order) = (self.at, self.order);
        let there = self.from.want(HEAD)?;
        let (Some(kind), Some(size)) = (u32_at(there, 0, order), u16_at(there, 6, order)) else {
            // If the size is unknown, this is the end.
            if !there.is_empty() || self.left <= u64::MAX / 2 {
                damage.end(at + there.len() as u64, "the file is cut off");
            }
            return Ok(None);
        };
        let size = usize::from(size);
        if size < HEAD {
            damage.end(at, "a record is shorter than its own head");
            return Ok(None);
        }
        let there = self.from.want(size)?;
        if there.len() < size {
            damage.end(at + there.len() as u64, "the file is cut off");
            return Ok(None);
        }
        let whole = self.from.pass(size);
        self.pass(size as u64);
        Ok(Some(Head { at, kind, body: whole.start + HEAD..whole.end }))
    }

    fn pass(&mut self, bytes: u64) {
        self.at += bytes;
        self.left = self.left.saturating_sub(bytes);
    }

    /// Skips the useless data after a record of this kind.
    fn skip(&mut self, head: &Head) -> Result<(), ReadError> {
        let size = u64_at(self.from.passed(head.body.clone()), 0, self.order).unwrap_or(0);
        let skipped = std::io::copy(&mut Read::by_ref(&mut self.from).take(size), &mut std::io::sink())?;
        self.pass(skipped);
        Ok(())
    }

    /// Reads the descriptions of events after such a record. Returns false if they are truncated.
    fn payload(&mut self, head: &Head, damage: &mut Damage) -> Result<bool, ReadError> {
        let size = u32_at(self.from.passed(head.body.clone()), 0, self.order).map_or(0, u64::from);
        let size = size.next_multiple_of(8);
        self.payload.clear();
        if size <= LONGEST_PAYLOAD {
            Read::by_ref(&mut self.from).take(size).read_to_end(&mut self.payload)?;
        }
        let read = self.payload.len() as u64;
        self.pass(read);
        if read < size {
            damage.end(self.at, "the descriptions of events are cut off");
        }
        Ok(read == size)
    }

    fn compressed(&mut self, head: &Head, damage: &mut Damage) {
        let body = self.from.passed(head.body.clone());
        let body = match head.kind {
            kind::COMPRESSED2 => {
                let size = u64_at(body, 0, self.order).and_then(|size| usize::try_from(size).ok());
                size.and_then(|size| body.get(8..)?.get(..size))
            }
            _ => Some(body),
        };
        let Some(body) = body else {
            return damage.skip(head.at, "a compressed record is shorter than it says");
        };
        let zstd = self.zstd.get_or_insert_with(Zstd::new);
        zstd.input.drain(..zstd.taken);
        zstd.taken = 0;
        zstd.input.extend_from_slice(body);
        zstd.packed += body.len() as u64;
        zstd.at = head.at;
    }
}

/// The next record from compressed ones.
enum Unpacked {
    Record(Head),
    /// None: more data is needed.
    None,
    Wrong,
}

impl Zstd {
    fn new() -> Self {
        let mut context = DCtx::create();
        // A larger window is rejected when it occurs, with the reason.
        let _ = context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG));
        Self {
            context,
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            given: 0,
            at: 0,
            packed: 0,
            unpacked: 0,
        }
    }

    /// Returns the next complete record in the decompressed data, or `None` if more is needed.
    fn next(&mut self, order: Order) -> Result<Option<Head>, &'static str> {
        loop {
            let there = &self.output[self.given..];
            if let Some(size) = u16_at(there, 6, order) {
                let size = usize::from(size);
                if size < HEAD {
                    return Err("a compressed record is shorter than its own head");
                }
                if there.len() >= size {
                    let kind = u32_at(there, 0, order).unwrap_or(0);
                    let body = self.given + HEAD..self.given + size;
                    self.given += size;
                    return Ok(Some(Head { at: self.at, kind, body }));
                }
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Decompresses another chunk.
    fn more(&mut self) -> Result<bool, &'static str> {
        self.output.drain(..self.given);
        self.given = 0;
        let there = self.output.len();
        self.output.resize(there + CHUNK, 0);
        let mut input = InBuffer::around(&self.input[self.taken..]);
        let mut output = OutBuffer::around(&mut self.output[there..]);
        let done = self.context.decompress_stream(&mut output, &mut input);
        let (taken, given) = (input.pos(), output.pos());
        self.output.truncate(there + given);
        done.map_err(|_| "compressed records cannot be decompressed")?;
        self.taken += taken;
        self.unpacked += given as u64;
        if self.unpacked > self.packed * RATIO + SLACK {
            return Err("compressed records hold more than any that perf writes");
        }
        Ok(given > 0 || taken > 0)
    }
}
