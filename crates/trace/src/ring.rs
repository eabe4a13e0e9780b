//! Keeps the last moments of a stream of any length.
//!
//! Events are packed as in a file, in chunks. Events that are too old are dropped, a whole chunk at a time, but the
//! state that they led to is kept: which tasks exist, run and wait. So the rest is a complete stream at any moment, and
//! memory is bounded.

mod dense;

use crate::cut::State;
use crate::{Class, Cut, Event, Meta, Reader, Sink, TraceError, WriteError, Writer};
use dense::Dense;
use keel_abi::{Instant, Span};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

/// A chunk is full when it has this fraction of the kept bytes or of the kept time.
const CHUNKS: u32 = 16;

/// Keeps the end of the stream that it receives.
pub struct Ring {
    keep: Span,
    most_bytes: usize,
    kept: Kept,
    filling: Option<Filling>,
    /// The size of all chunks except the one being filled, in bytes.
    bytes: usize,
    failed: Option<TraceError>,
}

/// The end of a stream, as it was at one moment.
#[derive(Clone, Default)]
pub struct Kept {
    /// The state when the first chunk began.
    state: State,
    cpus: u32,
    chunks: VecDeque<Chunk>,
    from: Instant,
    until: Instant,
}

/// Packed events.
#[derive(Clone)]
struct Chunk {
    from: Instant,
    bytes: Arc<[u8]>,
}

/// The chunk being filled.
struct Filling {
    from: Instant,
    writer: Writer<Vec<u8>>,
}

impl Ring {
    /// Keeps the last `keep` of a stream, or less if packed events would take more than `most_bytes`.
    pub fn new(keep: Span, most_bytes: usize) -> Self {
        Self { keep, most_bytes, kept: Kept::default(), filling: None, bytes: 0, failed: None }
    }

    /// Returns the part that is currently kept. The ring continues, and the result can be written on any thread.
    ///
    /// # Errors
    /// The part cannot be read back.
    pub fn kept(&mut self) -> Result<Kept, TraceError> {
        self.close();
        self.trim();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let end = self.kept.until.since(Instant::ZERO);
        let due = Instant::ZERO + end.saturating_sub(self.keep);
        Ok(Kept { from: due.max(self.kept.from), ..self.kept.clone() })
    }

    /// Returns the chunk for an event at `at`: a new one if the last is full. Events at one instant stay together, so a
    /// part that begins with a chunk has all events of its first instant.
    fn writer(&mut self, at: Instant) -> &mut Writer<Vec<u8>> {
        if at > self.kept.until && self.is_full() {
            self.close();
            self.trim();
        }
        self.kept.until = self.kept.until.max(at);
        &mut self.filling.get_or_insert_with(|| Filling { from: at, writer: Writer::part() }).writer
    }

    fn is_full(&self) -> bool {
        let Some(filling) = &self.filling else { return false };
        let length = self.kept.until.since(filling.from);
        length > Span::from_ns(self.keep.as_ns() / u64::from(CHUNKS))
            || filling.writer.bytes() > self.most_bytes / CHUNKS as usize
    }

    fn close(&mut self) {
        let Some(Filling { from, mut writer }) = self.filling.take() else { return };
        writer.meta(self.kept.until, &Meta::End);
        // Memory accepts every write, including the end.
        let bytes: Arc<[u8]> = writer.finish().unwrap_or_default().into();
        self.bytes += bytes.len();
        self.kept.chunks.push_back(Chunk { from, bytes });
    }

    /// Drops chunks that end before the part to keep, or that do not fit.
    fn trim(&mut self) {
        while let Some(second) = self.kept.chunks.get(1) {
            let is_old = self.kept.until.since(second.from) >= self.keep;
            if !is_old && self.bytes <= self.most_bytes {
                return;
            }
            self.kept.from = second.from;
            let Some(oldest) = self.kept.chunks.pop_front() else { return };
            self.bytes -= oldest.bytes.len();
            let passed = oldest.pass(self.kept.cpus, &mut self.kept.state);
            self.failed = self.failed.take().or(passed.err());
        }
    }
}

impl Sink for Ring {
    fn wants(&self) -> Class {
        Class::ALL
    }

    fn events(&mut self, events: &[Event]) {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        self.writer(first.at).events(events);
        self.kept.until = last.at;
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        match meta {
            Meta::End => self.kept.until = self.kept.until.max(at),
            Meta::Start { topology, .. } => {
                (self.kept.cpus, self.kept.from) = (topology.cpus(), at);
                self.kept.state.note(meta);
            }
            // They belong to the whole stream, and are emitted once.
            Meta::Unknown(_) | Meta::Clock { .. } | Meta::Chance { .. } => self.kept.state.note(meta),
            _ => self.writer(at).meta(at, meta),
        }
    }
}

impl Kept {
    /// Returns its length.
    pub fn length(&self) -> Span {
        self.until.since(self.from)
    }

    /// Passes it on as a stream, with the instants of the whole stream. Tasks get new numbers, because their numbers in
    /// a long stream are higher than a reader of a short one accepts.
    ///
    /// # Errors
    /// It cannot be read back.
    pub fn pass(self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut dense = Dense::new(sink);
        let mut cut = Cut::since(self.state, self.from..Instant::from_ns(u64::MAX), &mut dense);
        for chunk in &self.chunks {
            chunk.pass(self.cpus, &mut cut)?;
        }
        cut.meta(self.until, &Meta::End);
        Ok(())
    }

    /// Writes it as a file.
    ///
    /// # Errors
    /// It cannot be read back or written.
    pub fn write(self, out: impl Write) -> Result<(), WriteError> {
        let mut writer = Writer::new(out);
        self.pass(&mut writer).map_err(|e| WriteError::Io(std::io::Error::other(e)))?;
        writer.finish().map(drop)
    }
}

impl Chunk {
    fn pass(&self, cpus: u32, sink: &mut dyn Sink) -> Result<(), TraceError> {
        Reader::part(&*self.bytes, cpus).pump(&mut Endless(sink))
    }
}

/// Passes on a part without its end.
struct Endless<'a>(&'a mut dyn Sink);

impl Sink for Endless<'_> {
    fn wants(&self) -> Class {
        self.0.wants()
    }

    fn events(&mut self, events: &[Event]) {
        self.0.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        if *meta != Meta::End {
            self.0.meta(at, meta);
        }
    }
}

#[cfg(test)]
mod tests;
