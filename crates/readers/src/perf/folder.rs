//! Merges the records of several files: those of each thread of `perf record --threads`.
//!
//! There is a file for each CPU, whichever CPUs a thread reads, and there are no rounds. So each file's records are
//! sorted as far as they can be held back, and then all files are merged by time.

use super::State;
use super::layout::Layout;
use super::sort::{MOST, Rounds};
use super::stream::Stream;
use crate::ReadError;
use crate::sched_record::SchedRecord;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Seek};

/// `PERF_DIR_SINGLE_FILE` and `PERF_DIR_VERSION`: all records are in the head, or in files of their own.
const SINGLE_FILE: u64 = 0;
const FILES: u64 = 1;
/// The number of records that can be held back for each file, however many files there are.
const FEWEST: usize = 1 << 12;

/// Checks that a head with this folder version fits the files next to it. Drops those that do not belong to it.
pub(super) fn fits<R>(version: Option<u64>, parts: &mut Vec<R>) -> Result<(), ReadError> {
    let unsupported = |why: String| Err(ReadError::Unsupported(why));
    match version {
        Some(SINGLE_FILE) => parts.clear(),
        Some(FILES) if parts.is_empty() => {
            return unsupported(
                "this is only the head of a folder of perf record --threads, without the files of its threads \
                 (data.0 and so on); name the folder instead"
                    .to_owned(),
            );
        }
        Some(FILES) => {}
        Some(other) => {
            return unsupported(format!(
                "it is a perf.data folder of version {other}; keel reads version {FILES}"
            ));
        }
        None => return unsupported("the head of this perf.data folder is cut off".to_owned()),
    }
    Ok(())
}

/// The files, with the next record of each.
pub(super) struct Parts<R> {
    parts: Vec<Part<R>>,
    /// The times of the next records, with their files; empty if there is only one file.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    has_begun: bool,
}

struct Part<R> {
    stream: Stream<R>,
    rounds: Rounds,
    over: bool,
    /// The next record.
    next: Option<SchedRecord>,
}

impl<R: Read + Seek> Parts<R> {
    /// Returns the records of the file with this head, and of those next to it.
    pub(super) fn open(head: R, beside: Vec<R>, layout: &Layout) -> Result<Self, ReadError> {
        let most = (MOST / (beside.len() + 1)).max(FEWEST);
        let part = |stream| Part { stream, rounds: Rounds::new(most), over: false, next: None };
        let mut parts = vec![part(Stream::open(head, layout)?)];
        for file in beside {
            parts.push(part(Stream::bare(file, layout)?));
        }
        Ok(Self { parts, due: BinaryHeap::new(), has_begun: false })
    }

    /// Returns the next record of all files.
    pub(super) fn next(&mut self, state: &mut State) -> Result<Option<SchedRecord>, ReadError> {
        if let [only] = &mut self.parts[..] {
            return only.read(state);
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            for at in 0..self.parts.len() {
                self.fetch(at, state)?;
            }
        }
        let Some(Reverse((_, at))) = self.due.pop() else { return Ok(None) };
        let next = self.parts[at].next.take();
        self.fetch(at, state)?;
        Ok(next)
    }

    fn fetch(&mut self, at: usize, state: &mut State) -> Result<(), ReadError> {
        let part = &mut self.parts[at];
        part.next = part.read(state)?;
        self.due.extend(part.next.map(|seen| Reverse((seen.at, at))));
        Ok(())
    }
}

impl<R: Read + Seek> Part<R> {
    fn read(&mut self, state: &mut State) -> Result<Option<SchedRecord>, ReadError> {
        loop {
            if let Some(seen) = self.rounds.next() {
                return Ok(Some(seen));
            }
            if self.over {
                return Ok(None);
            }
            match self.stream.next(&mut state.damage)? {
                Some(record) => state.take(&record, &mut self.rounds),
                None => {
                    self.over = true;
                    self.rounds.end();
                }
            }
        }
    }
}
