//! Keeps the last moments of a recording in progress in memory, and writes them to a file on each trigger.
//!
//! A separate thread writes the file, so that no events are lost.

use crate::failure::Failure;
use crate::output::Output;
use crate::text::shown_path;
use keel_abi::{Instant, Span};
use keel_trace::{Class, Event, Kept, Meta, Ring, Sink};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

/// The maximum memory for packed events, in bytes. Twice as much is used while a file is being written.
const MOST_BYTES: usize = 256 << 20;
/// The shortest time that can be kept.
const LEAST: Span = Span::from_ms(100);

/// An event that happens now is in the ring after at most this time.
pub(crate) const SETTLE: Duration = Duration::from_millis(60);

/// The ring and the written files.
pub(crate) struct Moments {
    ring: Ring,
    path: PathBuf,
    /// Reserved at the start, so that an unwritable path is rejected before anything is recorded.
    first: Option<Output>,
    files: u64,
    writing: Option<JoinHandle<Result<(), Failure>>>,
}

impl Moments {
    /// Keeps the last `keep` of the recording. The first file is `path`; later files have numbers.
    pub(crate) fn new(keep: Span, path: &Path) -> Result<Self, Failure> {
        if keep < LEAST {
            return Err(Failure::input(format!("--ring {keep} is too short: the minimum is 100ms")));
        }
        let first = Some(Output::reserve(path)?);
        let ring = Ring::new(keep, MOST_BYTES);
        Ok(Self { ring, path: path.to_owned(), first, files: 0, writing: None })
    }

    /// Starts writing the current contents, and returns the file's name. The file appears when it is complete.
    pub(crate) fn write(&mut self) -> Result<PathBuf, Failure> {
        self.written()?;
        self.files += 1;
        let path = numbered(&self.path, self.files);
        let mut output = match self.first.take() {
            Some(first) => first,
            None => Output::reserve(&path)?,
        };
        let kept = self.ring.kept().map_err(|e| cannot(&path, &e.to_string()))?;
        let shown = path.clone();
        self.writing =
            Some(std::thread::spawn(move || keep(kept, &mut output, &shown).and_then(|()| output.keep())));
        Ok(path)
    }

    /// Waits until the last file is written.
    pub(crate) fn written(&mut self) -> Result<(), Failure> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Fails if writing the last file has failed. A file that is still being written has not failed.
    pub(crate) fn has_failed(&mut self) -> Result<(), Failure> {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) { self.written() } else { Ok(()) }
    }
}

fn keep(kept: Kept, output: &mut Output, path: &Path) -> Result<(), Failure> {
    let length = kept.length();
    kept.write(output.writer()).map_err(|e| cannot(path, &e.to_string()))?;
    // If stderr is closed there is nobody left to report to.
    let _ = writeln!(std::io::stderr(), "keel: the last {length} are in {}", shown_path(path));
    Ok(())
}

fn cannot(path: &Path, why: &str) -> Failure {
    Failure::input(format!("{}: {why}", shown_path(path)))
}

/// Returns the name of a file: `run.keel`, `run.2.keel`, `run.3.keel`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

impl Drop for Moments {
    fn drop(&mut self) {
        // A file is still being written here only after a different failure, which is reported instead.
        let _ = self.written();
    }
}

impl Sink for Moments {
    fn wants(&self) -> Class {
        self.ring.wants()
    }

    fn events(&mut self, events: &[Event]) {
        self.ring.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.ring.meta(at, meta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::Topology;
    use keel_trace::Reader;

    #[test]
    fn later_files_have_numbers() {
        let check = |path: &str, number, expected: &str| {
            assert_eq!(numbered(Path::new(path), number), Path::new(expected));
        };
        check("a/run.keel", 1, "a/run.keel");
        check("a/run.keel", 2, "a/run.2.keel");
        check("a.b/run", 12, "a.b/run.12");
    }

    #[test]
    fn each_reason_makes_a_file_that_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.keel");
        let mut moments = Moments::new(Span::from_s(1), &path).unwrap();
        let [scheduler, workload, unit] = [const { String::new() }; 3];
        let start = Meta::Start { topology: Topology::flat(2), scheduler, workload, unit };
        moments.meta(Instant::ZERO, &start);
        for expected in ["run.keel", "run.2.keel"] {
            let written = moments.write().unwrap();
            assert_eq!(written, folder.path().join(expected));
            moments.written().unwrap();
            let file = std::fs::File::open(written).unwrap();
            assert!(Reader::new(file).unwrap().all(|item| item.is_ok()));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Moments::new(Span::from_ms(99), &folder.path().join("x")).is_err());
        assert!(Moments::new(Span::from_s(1), folder.path()).is_err());
    }
}
