//! Recordings that other tools made, as the one stream of events that the checks read: `perf record`'s files,
//! `trace-cmd record`'s files, and the text of ftrace, `trace-cmd report` and `perf script`.
//!
//! A file is known by its content ([`Kind`]). Each format's reader gives records ([`seen`]) nearly in order, from a
//! stream, in bounded memory, and trusts nothing: what makes no sense is left out and counted, and the rest is read on.
//! [`line`] puts them in order and wakeups together, [`survey`] goes through the recording once to learn how it begins,
//! and [`tell`] goes through it again and hands everything to [`keel_trace::story`].
//!
//! What a recording cannot tell is said in [`Recording::notes`], a sentence each, and never guessed.
#![forbid(unsafe_code)]

mod ahead;
mod error;
mod formats;
mod going;
mod kept;
mod kind;
mod line;
mod notes;
mod own_cpu;
mod perf;
mod seen;
mod source;
mod survey;
mod tell;
mod text;
mod topology;
mod tracedat;

#[cfg(test)]
mod make;
#[cfg(test)]
mod tests;

pub use error::ReadError;
pub use kind::Kind;

use keel_trace::Sink;
use line::Line;
use source::Source;
use std::io::{Read, Seek, SeekFrom};
use survey::Survey;

/// What was read of a recording, beside its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// What kind of file it is.
    pub kind: Kind,
    /// What was wrong with it, and what it cannot tell: a sentence each. They hold no stranger's text.
    pub notes: Vec<String>,
    /// Events of which the file says that they were lost, wherever; those whose place is known are in the stream, too.
    pub lost: u64,
}

/// What kind of file `file` is; it is at its beginning again afterwards.
///
/// # Errors
/// Where it cannot be read, is empty, or is of no kind that is known.
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

/// Reads a recording of another tool, and hands its stream to `sink`.
///
/// # Errors
/// Where nothing of it can be judged: then `sink` has heard nothing. Where the host fails while the file is read the
/// second time, `sink` has heard a part of the stream.
pub fn read<F: Read + Seek>(mut file: F, sink: &mut dyn Sink) -> Result<Recording, ReadError> {
    let kind = kind(&mut file)?;
    let mut source = open(kind, &mut file)?;
    let (survey, kept) = Survey::of(&mut *source)?;
    let (facts, damage) = (source.facts(), source.damage().clone());
    drop(source);
    if survey.switches == 0 {
        return Err(ReadError::NoSwitches(notes::without_switches(&survey)));
    }
    let counts = match kept {
        Some(kept) => {
            let mut again = kept.again(survey.has_wakeups);
            tell::tell(|| Ok(again.next()), &facts, &survey, sink)?
        }
        None => {
            let mut source = open(kind, &mut file)?;
            let mut line = Line::new(&mut *source, survey.has_wakeups);
            tell::tell(|| line.next(), &facts, &survey, sink)?
        }
    };
    let notes = notes::notes(&facts, &damage, &survey, &counts);
    Ok(Recording { kind, notes, lost: survey.lost.saturating_add(facts.lost) })
}

/// The file from its beginning.
fn open<'a, F: Read + Seek>(kind: Kind, file: &'a mut F) -> Result<Box<dyn Source + 'a>, ReadError> {
    file.seek(SeekFrom::Start(0))?;
    Ok(match kind {
        Kind::Own => return Err(ReadError::Foreign),
        Kind::Perf => Box::new(perf::Perf::open(file)?),
        Kind::TraceDat => Box::new(tracedat::TraceDat::open(file)?),
        Kind::Text => Box::new(text::Text::open(file)),
    })
}
