//! Reads recordings by other tools as the stream of events that the checks read: files of `perf record` and `trace-cmd
//! record`, Perfetto traces, and the text of ftrace, `trace-cmd report` and `perf script`.
//!
//! A file is recognized by its content ([`Kind`]). Each format's reader yields records (`sched_record`) nearly in
//! order, from a stream, in bounded memory, and trusts nothing: it skips and counts invalid records, and continues.
//! `line` sorts the records and joins the parts of a wakeup, `survey` reads the recording once to determine how it
//! begins, and `emit` reads it again and passes everything to [`keel_trace::story`].
//!
//! What a recording does not show is never guessed. [`Recording::notes`] mentions it, in one sentence each.
//!
//! Formats:
//!
//! - `kind`: detects the kind of a file from its first bytes
//! - `perf`: perf.data, the files of `perf record`
//! - `tracedat`: trace.dat, the files of `trace-cmd record`
//! - `perfetto`: Perfetto traces
//! - `text`: the text of ftrace, `trace-cmd report` and `perf script`
//! - `formats`: events as the kernel writes them, decoded with the recording's own descriptions
//! - `packed`: recordings compressed as a whole with gzip or zstd
//!
//! From records to the stream:
//!
//! - `source`: the interface of every format's reader
//! - `sched_record`: one record, whatever its format
//! - `line`: puts records in order and completes wakeups
//! - `survey`: the first pass: the machine's state at the start, and the recording's content
//! - `emit`: the second pass: makes the stream from the records
//! - `woken_asleep`: tasks that are woken while they are going to sleep
//! - `own_cpu`: the kernel's per-CPU threads, by their names
//! - `topology`: determines a machine's shape from sets of CPUs that share something
//!
//! Speed:
//!
//! - `ahead`: reads a file ahead
//! - `reader_thread`: reads records on a separate thread
//! - `record_cache`: records kept from the first pass, so that most recordings are read once
//!
//! Problems and tests:
//!
//! - `error`: errors: why a file could not be judged at all
//! - `notes`: problems of a recording, and what it does not show
//! - `make`: writers of every format, for tests
//! - `tests`: tests of every format, whole and damaged
#![forbid(unsafe_code)]

mod ahead;
mod emit;
mod error;
mod formats;
mod kind;
mod line;
mod notes;
mod own_cpu;
mod packed;
mod perf;
mod perfetto;
mod reader_thread;
mod record_cache;
mod sched_record;
mod source;
mod survey;
mod text;
mod topology;
mod tracedat;
mod woken_asleep;

#[cfg(test)]
mod make;
#[cfg(test)]
mod tests;

pub use error::ReadError;
pub use kind::{Kind, LOOK};
pub use packed::{Packing, UnpackError};

use keel_trace::story::Counts;
use keel_trace::{Sink, relayed};
use line::Line;
use record_cache::RecordCache;
use source::{Damage, Facts, Source};
use std::io::{Read, Seek, SeekFrom};
use survey::Survey;

/// A file of at least this many bytes is read on separate threads, whose cost is then negligible.
pub const LARGE: u64 = 1 << 20;

/// Information about a recording, besides its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The kind of file.
    pub kind: Kind,
    /// Its problems, and what it lacks: a sentence each. They contain no untrusted text.
    pub notes: Vec<String>,
    /// The notes about missing or invalid parts, which may hide further findings.
    pub doubts: Vec<String>,
    /// The number of lost events according to the file; those whose place is known are also in the stream.
    pub lost: u64,
}

/// Returns the kind of `file`, and rewinds it to its beginning.
///
/// # Errors
/// It cannot be read, is empty, or is of an unknown kind.
pub fn kind(file: &mut (impl Read + Seek)) -> Result<Kind, ReadError> {
    let mut first = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.by_ref().take(kind::LOOK as u64).read_to_end(&mut first)?;
    file.seek(SeekFrom::Start(0))?;
    if first.is_empty() {
        return Err(ReadError::Empty);
    }
    Kind::of(&first).ok_or(ReadError::Foreign)
}

/// Reads a recording of another tool, and passes its stream to `sink`. A large one is read on other threads than the
/// one on which `sink` receives it; the stream is the same.
///
/// # Errors
/// Nothing of it can be judged; `sink` has then received nothing. If the host fails during the second pass, `sink` has
/// received part of the stream.
pub fn read<F: Read + Seek + Send>(mut file: F, sink: &mut dyn Sink) -> Result<Recording, ReadError> {
    let is_large = file.seek(SeekFrom::End(0))? >= LARGE;
    read_in(if is_large { Way::Threads } else { Way::One }, Files::one(file), sink)
}

/// Like [`read`], for a folder from `perf record --threads`: `head` is its file `data`, and `parts` are `data.0` and so
/// on.
///
/// # Errors
/// Those of [`read`], or the head is not perf's.
pub fn read_folder<F: Read + Seek + Send>(
    mut head: F,
    mut parts: Vec<F>,
    sink: &mut dyn Sink,
) -> Result<Recording, ReadError> {
    let mut bytes = head.seek(SeekFrom::End(0))?;
    for part in &mut parts {
        bytes = bytes.saturating_add(part.seek(SeekFrom::End(0))?);
    }
    read_in(if bytes >= LARGE { Way::Threads } else { Way::One }, Files { file: head, parts }, sink)
}

/// A recording's file, and its additional files of records.
struct Files<F> {
    file: F,
    parts: Vec<F>,
}

impl<F> Files<F> {
    const fn one(file: F) -> Self {
        Self { file, parts: Vec::new() }
    }
}

/// How many threads read a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Only the caller's thread.
    One,
    /// Another thread reads the file, in each pass.
    Threads,
}

fn read_in<F: Read + Seek + Send>(
    way: Way,
    mut files: Files<F>,
    sink: &mut dyn Sink,
) -> Result<Recording, ReadError> {
    let kind = kind(&mut files.file)?;
    let First { survey, kept, facts, damage } = match way {
        Way::One => First::here(kind, &mut files)?,
        Way::Threads => First::apart(kind, &mut files)?,
    };
    if survey.switches == 0 {
        return Err(ReadError::NoSwitches(notes::without_switches(&survey)));
    }
    if survey.has_no_order() {
        let (backwards, furthest) = (survey.clock.backwards, survey.clock.furthest);
        return Err(ReadError::NoOrder { backwards, records: survey.records, furthest });
    }
    let again = |sink: &mut dyn Sink| second(kind, &mut files, kept, &facts, &survey, sink);
    let counts = match way {
        Way::One => again(sink)?,
        Way::Threads => relayed(sink, again)?,
    };
    let (doubts, limits) = notes::notes(&facts, &damage, &survey, &counts);
    let notes = doubts.iter().chain(&limits).cloned().collect();
    Ok(Recording { kind, notes, doubts, lost: survey.lost.saturating_add(facts.lost) })
}

/// The result of the first pass over a recording.
struct First {
    survey: Survey,
    kept: Option<RecordCache>,
    facts: Facts,
    damage: Damage,
}

impl First {
    fn here<F: Read + Seek>(kind: Kind, files: &mut Files<F>) -> Result<Self, ReadError> {
        let mut source = open(kind, files)?;
        let (survey, kept) = Survey::of(&mut *source)?;
        Ok(Self { survey, kept, facts: source.facts(), damage: source.damage().clone() })
    }

    /// Makes the first pass, with records read on a separate thread.
    fn apart<F: Read + Seek + Send>(kind: Kind, files: &mut Files<F>) -> Result<Self, ReadError> {
        let read = |to: &mut reader_thread::Sender| -> Result<(Facts, Damage), ReadError> {
            let mut source = open(kind, files)?;
            to.all(&mut *source)?;
            Ok((source.facts(), source.damage().clone()))
        };
        let (read, surveyed) = reader_thread::read(read, |records| Survey::of(records));
        // For a consumer that only reads records, an error of the file is an end.
        let ((facts, damage), (survey, kept)) = (read?, surveyed?);
        Ok(Self { survey, kept, facts, damage })
    }
}

/// Makes the second pass over a recording, from the record cache if it is complete.
fn second<F: Read + Seek>(
    kind: Kind,
    files: &mut Files<F>,
    kept: Option<RecordCache>,
    facts: &Facts,
    survey: &Survey,
    sink: &mut dyn Sink,
) -> Result<Counts, ReadError> {
    match kept {
        Some(kept) => {
            let mut again = kept.again(survey.has_wakeups);
            emit::emit(|| Ok(again.next()), facts, survey, sink)
        }
        None => {
            let mut source = open(kind, files)?;
            let mut line = Line::new(&mut *source, survey.has_wakeups);
            emit::emit(|| line.next(), facts, survey, sink)
        }
    }
}

/// Opens the files at their beginnings.
fn open<'a, F: Read + Seek>(kind: Kind, files: &'a mut Files<F>) -> Result<Box<dyn Source + 'a>, ReadError> {
    let Files { file, parts } = files;
    file.seek(SeekFrom::Start(0))?;
    if kind != Kind::Perf && !parts.is_empty() {
        return Err(ReadError::Foreign);
    }
    Ok(match kind {
        Kind::Own => return Err(ReadError::Foreign),
        Kind::Perf => Box::new(perf::Perf::open(file, parts.iter_mut().collect())?),
        Kind::TraceDat => Box::new(tracedat::TraceDat::open(file)?),
        Kind::Perfetto => Box::new(perfetto::Perfetto::open(file)?),
        Kind::Text => Box::new(text::Text::open(file)),
    })
}
