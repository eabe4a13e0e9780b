//! Keeps recordings of findings, one trace file each.

use crate::failure::Failure;
use crate::inputs::reason;
use crate::output::Output;
use crate::text::shown_path;
use keel_abi::{Instant, Span};
use keel_trace::{Cut, Reader, Writer};
use std::path::{Path, PathBuf};

/// How much of a finding's recording is kept: its end, when the finding is confirmed.
const KEPT: Span = Span::from_ms(20);
/// The maximum number of recordings that one watch keeps.
const MOST: u64 = 1000;

/// The folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    next: u64,
    kept: u64,
}

impl Folder {
    /// Creates the folder if it doesn't exist. Existing files are kept.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let cannot = |e: std::io::Error| {
            Failure::input(format!("{} cannot be used: {}", shown_path(path), reason(&e)))
        };
        std::fs::create_dir_all(path).map_err(cannot)?;
        let entries = std::fs::read_dir(path).map_err(cannot)?;
        let numbers = entries.filter_map(|entry| number(&entry.ok()?.file_name().to_string_lossy()));
        let folder = Self { path: path.to_owned(), next: numbers.max().unwrap_or(0) + 1, kept: 0 };
        // Check now whether it is writable, not at the first finding.
        drop(Output::reserve(&folder.place())?);
        Ok(folder)
    }

    /// Returns how many recordings have been kept.
    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    /// Keeps the end of a recording of this length. Returns its path, or `None` if there are enough recordings.
    pub(super) fn keep(&mut self, trace: &[u8], length: Span) -> Result<Option<PathBuf>, Failure> {
        if self.kept >= MOST {
            return Ok(None);
        }
        let place = self.place();
        let reported = |why: String| Failure::input(format!("{}: {why}", shown_path(&place)));
        let mut output = Output::reserve(&place)?;
        let mut writer = Writer::new(output.writer());
        let from = Instant::ZERO + length.saturating_sub(KEPT);
        let mut end = Cut::new(from..Instant::from_ns(u64::MAX), &mut writer);
        let pumped = Reader::new(trace).and_then(|mut reader| reader.pump(&mut end));
        pumped.map_err(|e| reported(e.to_string()))?;
        writer.finish().map_err(|e| reported(format!("it cannot be written: {e}")))?;
        output.keep()?;
        (self.next, self.kept) = (self.next + 1, self.kept + 1);
        Ok(Some(place))
    }

    fn place(&self) -> PathBuf {
        self.path.join(format!("finding-{:04}.keel", self.next))
    }
}

/// Returns the number in the name of a file that keel wrote.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix("finding-")?.strip_suffix(".keel")?.parse().ok().filter(|&n| n < u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{CpuId, TaskId, Topology};
    use keel_trace::{Event, Item, Meta, Sink, What, Why};

    /// Returns a trace of 100 ms in which task 0 runs on CPU 0 from the start, and again after 90 ms.
    fn trace() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        let [scheduler, workload, unit] = [const { String::new() }; 3];
        writer.meta(Instant::ZERO, &Meta::Start { topology: Topology::flat(2), scheduler, workload, unit });
        let (task, idle) = (TaskId(0), TaskId::IDLE);
        let switch = |at_ms, prev, why, next| Event {
            at: Instant::ZERO + Span::from_ms(at_ms),
            cpu: CpuId(0),
            what: What::Switch { prev, why, next },
        };
        writer.events(&[switch(0, idle, Why::WasIdle, task), switch(90, task, Why::Blocked, idle)]);
        writer.meta(Instant::ZERO + Span::from_ms(100), &Meta::End);
        writer.finish().unwrap()
    }

    #[test]
    fn the_end_of_each_recording_is_kept_beside_earlier_ones() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/folder");
        std::fs::create_dir_all(&path).unwrap();
        for name in ["finding-0007.keel", "finding-x.keel", "other"] {
            std::fs::write(path.join(name), "old").unwrap();
        }
        let mut folder = Folder::open(&path).unwrap();
        let kept = folder.keep(&trace(), Span::from_ms(100)).unwrap().unwrap();
        assert_eq!(kept, path.join("finding-0008.keel"));
        assert_eq!(
            folder.keep(&trace(), Span::from_ms(100)).unwrap().unwrap(),
            path.join("finding-0009.keel")
        );
        assert_eq!(folder.kept(), 2);
        let mut reader = Reader::new(std::fs::File::open(kept).unwrap()).unwrap();
        let mut switches = Vec::new();
        while let Some(item) = reader.next_item().unwrap() {
            if let Item::Event(event) = item {
                switches.push(event.at.since(Instant::ZERO));
            }
        }
        assert_eq!(switches, [Span::from_ms(80), Span::from_ms(90)]);
        folder.kept = MOST;
        assert_eq!(folder.keep(&trace(), Span::from_ms(100)).unwrap(), None);
    }

    #[test]
    fn a_folder_that_cannot_be_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Folder::open(file.path()).is_err());
    }
}
