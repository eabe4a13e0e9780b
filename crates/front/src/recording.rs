//! Opens recordings for `keel check` and `keel report`: a file, `-` for standard input, or a pipe, each either plain or
//! compressed by gzip or zstd; or a folder that `perf record --threads` wrote.
//!
//! Readers may read a recording twice, so input that can be read only once is first copied to an unnamed file in the
//! temporary folder. Input that is not a recording is rejected before anything is copied.

use crate::caller::{Caller, work};
use crate::failure::Failure;
use crate::folder;
use crate::inputs::reason;
use crate::pipe;
use crate::text::shown_path;
use keel_abi::{Instant, Stop};
use keel_readers::{Kind, LARGE, LOOK, Packing, Recording, UnpackError};
use keel_report::Partial;
use keel_trace::{Class, Event, Meta, Reader, Sink, TraceError, relayed};
use std::fs::File;
use std::io::{self, Cursor, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The maximum number of bytes copied from a pipe.
const MOST_COPIED: u64 = 64 << 30;

/// A recording that can be read any number of times.
pub struct Source {
    path: PathBuf,
    file: File,
    /// The files with its records, if it is the head of a folder.
    parts: Vec<File>,
    /// Its format.
    pub kind: Kind,
}

/// The result of reading a recording.
pub struct Reading {
    /// The reader's information about the recording.
    pub recording: Recording,
    /// `None` if all of it was read.
    pub partial: Option<Partial>,
}

impl Reading {
    /// Fails unless all of the recording was read, for a result that has no meaning for a part of it.
    pub(crate) fn whole(self, caller: &dyn Caller, why: &str) -> Result<Self, Failure> {
        match caller.stopped_by() {
            Some(by) if self.partial.is_some() => Err(Failure::stopped(by, why)),
            _ => Ok(self),
        }
    }
}

/// Returns a function that makes a failure from the reason why this recording can't be read.
pub fn unreadable(path: &Path) -> impl Fn(String) -> Failure {
    move |why| match is_stdin(path) {
        true => Failure::input(format!("standard input: {why}")),
        false => Failure::input(format!("{}: {why}", shown_path(path))),
    }
}

/// Returns whether the path stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

impl Source {
    /// Opens a recording, and copies it if it can be read only once. During the copy a signal ends the process: there
    /// is no result yet, and a pipe may be silent for a long time.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let unreadable = unreadable(path);
        if !is_stdin(path) && path.is_dir() {
            let (mut file, parts) = folder::open(path)?;
            let kind = keel_readers::kind(&mut file).ok().filter(|&kind| kind == Kind::Perf);
            let kind = kind.ok_or_else(|| unreadable("it is a folder, not a recording".to_owned()))?;
            return Ok(Self { path: path.to_owned(), file, parts, kind });
        }
        let mut file = opened(path)?;
        let is_file = file.metadata().is_ok_and(|file| file.is_file());
        let mut first = Vec::new();
        Read::by_ref(&mut file)
            .take(LOOK as u64)
            .read_to_end(&mut first)
            .map_err(|e| unreadable(reason(&e)))?;
        if let Some(packing) = Packing::of(&first) {
            file = unpacked(path, packing, Cursor::new(first).chain(file))?;
        } else if !is_file {
            keel_readers::kind(&mut Cursor::new(&first)).map_err(|e| unreadable(e.to_string()))?;
            file = copied(path, Cursor::new(first).chain(file))?;
        }
        let kind = keel_readers::kind(&mut file).map_err(|e| unreadable(e.to_string()))?;
        Ok(Self { path: path.to_owned(), file, parts: Vec::new(), kind })
    }

    /// Passes all of it to `sink`. If a signal arrives, the stream ends there.
    pub fn read(&self, sink: &mut dyn Sink, caller: &dyn Caller) -> Result<Reading, Failure> {
        let unreadable = unreadable(&self.path);
        let _work = work(caller);
        let rewound = |mut file: &File| file.rewind().map_err(|e| unreadable(reason(&e)));
        std::iter::once(&self.file).chain(&self.parts).try_for_each(rewound)?;
        let mut until = Until::new(caller.stop(), sink);
        let stoppable = |file| Stoppable { file, stop: caller.stop() };
        let file = stoppable(&self.file);
        let read = match self.kind {
            Kind::Own => own(file, &mut until).map_err(|e| e.to_string()),
            _ if self.parts.is_empty() => keel_readers::read(file, &mut until).map_err(|e| e.to_string()),
            _ => {
                let parts = self.parts.iter().map(stoppable).collect();
                keel_readers::read_folder(file, parts, &mut until).map_err(|e| e.to_string())
            }
        };
        let stopped = until.end(read.is_err());
        match (read, stopped, caller.stopped_by()) {
            (read, Some(at), Some(by)) => {
                let unread =
                    |_| Recording { kind: self.kind, notes: Vec::new(), doubts: Vec::new(), lost: 0 };
                let partial = Some(Partial::new(by, at, None));
                Ok(Reading { recording: read.unwrap_or_else(unread), partial })
            }
            (Ok(recording), ..) => Ok(Reading { recording, partial: None }),
            (Err(_), None, Some(by)) => Err(Failure::stopped(by, "before any events were judged")),
            (Err(why), ..) => Err(unreadable(why)),
        }
    }
}

fn opened(path: &Path) -> Result<File, Failure> {
    let unreadable = unreadable(path);
    if !is_stdin(path) {
        return pipe::open(path).map_err(|e| match e.kind() {
            io::ErrorKind::TimedOut => unreadable(reason(&e)).help("start writing to it first"),
            _ => unreadable(reason(&e)),
        });
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(unreadable("it is a terminal, not a recording".to_owned())
            .help("pipe a recording into it: perf script | keel check -"));
    }
    let file = stdin.as_fd().try_clone_to_owned().map(File::from);
    file.map_err(|e| unreadable(reason(&e)))
}

fn unpacked(path: &Path, packing: Packing, from: impl Read) -> Result<File, Failure> {
    let unreadable = unreadable(path);
    let mut file = temporary()?;
    match packing.unpack(from, &mut file) {
        Ok(()) => Ok(file),
        Err(UnpackError::Write(e)) => Err(full(&e)),
        Err(e @ UnpackError::TooMuch { .. }) => {
            let help = format!("if you trust it, unpack it yourself: {} FILE > RECORDING", packing.command());
            Err(unreadable(e.to_string()).help(help))
        }
        Err(e) => Err(unreadable(e.to_string())),
    }
}

fn copied(path: &Path, mut from: impl Read) -> Result<File, Failure> {
    let unreadable = unreadable(path);
    let mut file = temporary()?;
    let mut chunk = vec![0; 256 << 10];
    let mut copied = 0;
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => return Ok(file),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(unreadable(reason(&e))),
        };
        copied += read as u64;
        if copied > MOST_COPIED {
            let most = MOST_COPIED >> 30;
            return Err(
                unreadable(format!("it contains more than {most} GiB")).help("save it to a file first")
            );
        }
        file.write_all(&chunk[..read]).map_err(|e| full(&e))?;
    }
}

fn temporary() -> Result<File, Failure> {
    tempfile::tempfile().map_err(|e| full(&e))
}

fn full(error: &io::Error) -> Failure {
    let folder = std::env::temp_dir();
    let unreadable =
        format!("a copy of the recording cannot be written to {}: {}", shown_path(&folder), reason(error));
    Failure::input(unreadable).help("set TMPDIR to a folder with enough space")
}

/// Reads evenkeel's own trace format. Reads a large trace on a separate thread.
fn own(mut file: Stoppable<&File>, sink: &mut dyn Sink) -> Result<Recording, TraceError> {
    let is_large = file.file.seek(SeekFrom::End(0))? >= LARGE;
    file.file.rewind()?;
    let mut reader = Reader::new(file)?;
    let wrong = match is_large {
        true => relayed(sink, |sink| reader.pump_what_is_left(sink))?,
        false => reader.pump_what_is_left(sink)?,
    };
    let note = |wrong| format!("{wrong}; the part before it is judged, without a checksum");
    let notes: Vec<String> = wrong.map(note).into_iter().collect();
    Ok(Recording { kind: Kind::Own, doubts: notes.clone(), notes, lost: 0 })
}

/// A reader that fails once a stop has been requested.
struct Stoppable<F> {
    file: F,
    stop: Stop,
}

impl<F: Read> Read for Stoppable<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_asked() {
            true => Err(io::Error::other("it was stopped")),
            false => self.file.read(into),
        }
    }
}

impl<F: Seek> Seek for Stoppable<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Passes a stream on until a stop is requested, and then ends it.
struct Until<'a> {
    stop: Stop,
    sink: &'a mut dyn Sink,
    /// The last instant that was passed on, if any.
    last: Option<Instant>,
    ended: bool,
    stopped: bool,
}

impl<'a> Until<'a> {
    fn new(stop: Stop, sink: &'a mut dyn Sink) -> Self {
        Self { stop, sink, last: None, ended: false, stopped: false }
    }

    /// Returns whether the stream has been ended: no more events are passed on.
    fn is_over(&mut self) -> bool {
        self.stopped |= !self.ended && self.last.is_some() && self.stop.is_asked();
        self.stopped
    }

    /// Ends the stream if nothing has ended it yet. Called when it is over or its reader has failed. Returns the
    /// instant at which the stream was stopped, if it was.
    fn end(mut self, has_failed: bool) -> Option<Instant> {
        let last = self.last?;
        self.stopped |= has_failed && !self.ended && self.stop.is_asked();
        if !self.stopped {
            return None;
        }
        self.sink.meta(last, &Meta::End);
        Some(last)
    }
}

impl Sink for Until<'_> {
    fn wants(&self) -> Class {
        self.sink.wants()
    }

    fn events(&mut self, events: &[Event]) {
        if !self.is_over() {
            self.last = events.last().map(|event| event.at).or(self.last);
            self.sink.events(events);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        if !self.is_over() {
            self.last = Some(at);
            self.ended |= matches!(meta, Meta::End);
            self.sink.meta(at, meta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::CpuId;
    use keel_trace::What;

    #[derive(Default)]
    struct Collector(Vec<u64>, Vec<Instant>);

    impl Sink for Collector {
        fn wants(&self) -> Class {
            Class::ALL
        }
        fn events(&mut self, events: &[Event]) {
            self.0.extend(events.iter().map(|event| event.at.as_ns()));
        }
        fn meta(&mut self, at: Instant, meta: &Meta) {
            if matches!(meta, Meta::End) {
                self.1.push(at);
            }
        }
    }

    #[test]
    fn a_stream_that_is_stopped_has_an_end() {
        let event = |ns| Event { at: Instant::from_ns(ns), cpu: CpuId(0), what: What::Bypass { on: true } };
        let check = |stop_after: usize, expected: &[u64], at: Option<u64>| {
            let (mut collector, stop) = (Collector::default(), Stop::default());
            let mut until = Until::new(stop.clone(), &mut collector);
            for ns in 0..4 {
                if ns == stop_after as u64 {
                    stop.ask();
                }
                until.events(&[event(ns)]);
            }
            until.meta(Instant::from_ns(4), &Meta::End);
            assert_eq!(until.end(false).map(Instant::as_ns), at);
            assert_eq!(collector.0, expected);
            assert_eq!(collector.1, [Instant::from_ns(at.unwrap_or(4))], "one end");
        };
        check(9, &[0, 1, 2, 3], None);
        check(2, &[0, 1], Some(1));
        // An empty stream has nothing to end.
        check(0, &[0], Some(0));
    }
}
