//! The records of a perf.data file, one after the other; those in compressed records, too.

use super::layout::Layout;
use crate::ReadError;
use crate::formats::{Order, u16_at, u32_at, u64_at};
use crate::source::Damage;
use std::io::{BufReader, Read, Seek, SeekFrom};
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
/// What is decompressed at once.
const CHUNK: usize = 128 * 1024;
/// The largest window of a compressed stream that is accepted, as a power of two: 64 MiB.
const WINDOW_LOG: u32 = 26;
/// Records are not packed better than this, and the first ones not than that.
const RATIO: u64 = 100;
const SLACK: u64 = 16 << 20;
/// The longest description of events that a pipe brings.
const LONGEST_PAYLOAD: u64 = 64 << 20;

/// One record.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Where it begins in the file; one that was compressed, where that compressed record begins.
    pub(super) at: u64,
    pub(super) kind: u32,
    pub(super) body: Vec<u8>,
    /// What follows some records beyond their size.
    pub(super) payload: Vec<u8>,
}

/// The records.
pub(super) struct Stream<R> {
    from: BufReader<R>,
    order: Order,
    at: u64,
    left: u64,
    zstd: Option<Zstd>,
}

/// The compressed part of the stream.
struct Zstd {
    context: DCtx<'static>,
    /// What is not decompressed yet.
    input: Vec<u8>,
    taken: usize,
    /// What is decompressed and not handed on yet.
    output: Vec<u8>,
    given: usize,
    at: u64,
    /// Bytes so far, packed and unpacked.
    packed: u64,
    unpacked: u64,
}

impl<R: Read + Seek> Stream<R> {
    /// The records of a file with this layout.
    pub(super) fn open(mut file: R, layout: &Layout) -> Result<Self, ReadError> {
        file.seek(SeekFrom::Start(layout.data_offset.min(i64::MAX as u64)))?;
        let from = BufReader::with_capacity(256 * 1024, file);
        Ok(Self { from, order: layout.order, at: layout.data_offset, left: layout.data_size, zstd: None })
    }

    /// The next record; `None` at the end, or where it can be read no further.
    pub(super) fn next(&mut self, damage: &mut Damage) -> Result<Option<Record>, ReadError> {
        loop {
            if let Some(zstd) = &mut self.zstd {
                match zstd.next(self.order) {
                    Ok(Some(record)) => return Ok(Some(record)),
                    Ok(None) => {}
                    Err(why) => {
                        damage.end(zstd.at, why);
                        return Ok(None);
                    }
                }
            }
            let Some(mut record) = self.plain(damage)? else { return Ok(None) };
            match record.kind {
                kind::COMPRESSED => self.compressed(record.at, &record.body),
                kind::COMPRESSED2 => {
                    let size =
                        u64_at(&record.body, 0, self.order).and_then(|size| usize::try_from(size).ok());
                    match size.and_then(|size| record.body.get(8..)?.get(..size)) {
                        Some(body) => self.compressed(record.at, body),
                        None => damage.skip(record.at, "a compressed record is shorter than it says"),
                    }
                }
                kind::HEADER_TRACING_DATA => {
                    let size = u32_at(&record.body, 0, self.order).map_or(0, u64::from);
                    let Some(payload) = self.payload(size.next_multiple_of(8), damage)? else {
                        return Ok(None);
                    };
                    record.payload = payload;
                    return Ok(Some(record));
                }
                kind::AUXTRACE => {
                    let size = u64_at(&record.body, 0, self.order).unwrap_or(0);
                    let skipped = std::io::copy(&mut self.from.by_ref().take(size), &mut std::io::sink())?;
                    self.at += skipped;
                    self.left = self.left.saturating_sub(skipped);
                }
                _ => return Ok(Some(record)),
            }
        }
    }

    /// The next record of the file itself.
    fn plain(&mut self, damage: &mut Damage) -> Result<Option<Record>, ReadError> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut head = [0; HEAD];
        let read = fill(&mut self.from, &mut head)?;
        let at = self.at;
        if read == 0 && self.left > u64::MAX / 2 {
            return Ok(None);
        }
        if read < HEAD {
            damage.end(at + read as u64, "the file is cut off");
            return Ok(None);
        }
        let (kind, size) =
            (u32_at(&head, 0, self.order).unwrap_or(0), u16_at(&head, 6, self.order).unwrap_or(0));
        let Some(length) = usize::from(size).checked_sub(HEAD) else {
            damage.end(at, "a record is shorter than its own head");
            return Ok(None);
        };
        let mut body = vec![0; length];
        let read = fill(&mut self.from, &mut body)?;
        if read < length {
            damage.end(at + (HEAD + read) as u64, "the file is cut off");
            return Ok(None);
        }
        self.at += u64::from(size);
        self.left = self.left.saturating_sub(u64::from(size));
        Ok(Some(Record { at, kind, body, payload: Vec::new() }))
    }

    fn payload(&mut self, size: u64, damage: &mut Damage) -> Result<Option<Vec<u8>>, ReadError> {
        let mut payload = Vec::new();
        if size <= LONGEST_PAYLOAD {
            self.from.by_ref().take(size).read_to_end(&mut payload)?;
        }
        self.at += payload.len() as u64;
        self.left = self.left.saturating_sub(payload.len() as u64);
        if (payload.len() as u64) < size {
            damage.end(self.at, "the descriptions of events are cut off");
            return Ok(None);
        }
        Ok(Some(payload))
    }

    fn compressed(&mut self, at: u64, body: &[u8]) {
        let zstd = self.zstd.get_or_insert_with(Zstd::new);
        zstd.input.drain(..zstd.taken);
        zstd.taken = 0;
        zstd.input.extend_from_slice(body);
        zstd.packed += body.len() as u64;
        zstd.at = at;
    }
}

impl Zstd {
    fn new() -> Self {
        let mut context = DCtx::create();
        // A larger window is refused when it is met, with the reason.
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

    /// The next record that is whole in what was decompressed; `None` where more is needed.
    fn next(&mut self, order: Order) -> Result<Option<Record>, &'static str> {
        loop {
            let there = &self.output[self.given..];
            if let Some(size) = u16_at(there, 6, order) {
                let size = usize::from(size);
                if size < HEAD {
                    return Err("a compressed record is shorter than its own head");
                }
                if let Some(body) = there.get(HEAD..size) {
                    let kind = u32_at(there, 0, order).unwrap_or(0);
                    let record = Record { at: self.at, kind, body: body.to_vec(), payload: Vec::new() };
                    self.given += size;
                    return Ok(Some(record));
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
        let mut chunk = vec![0; CHUNK];
        let mut input = InBuffer::around(&self.input[self.taken..]);
        let mut output = OutBuffer::around(&mut chunk[..]);
        let done = self.context.decompress_stream(&mut output, &mut input);
        done.map_err(|_| "compressed records cannot be decompressed")?;
        let (taken, given) = (input.pos(), output.pos());
        self.taken += taken;
        self.unpacked += given as u64;
        if self.unpacked > self.packed * RATIO + SLACK {
            return Err("compressed records hold more than any that perf writes");
        }
        self.output.extend_from_slice(&chunk[..given]);
        Ok(given > 0 || taken > 0)
    }
}

/// Reads until `to` is full or there is no more.
fn fill(from: &mut impl Read, to: &mut [u8]) -> Result<usize, ReadError> {
    let mut read = 0;
    while read < to.len() {
        match from.read(&mut to[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(read)
}
