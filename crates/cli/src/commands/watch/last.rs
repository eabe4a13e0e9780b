//! Records the last moments before a finding: a recording that runs continuously during the watch.

use super::failure;
use crate::bell::Bell;
use crate::failure::Failure;
use crate::moments::{Moments, SETTLE};
use crate::watch_args::WatchArgs;
use keel_abi::Span;
use keel_live::Host;
use keel_live::record::{Beside, RecordError, Recorder};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The recording.
pub(super) struct Last {
    recorder: Recorder,
    moments: Moments,
    /// A finding gets a file only if the last file is older than this, so that no two files contain the same moment.
    keep: Duration,
    written: Option<Instant>,
    files: u64,
}

impl Last {
    /// Starts recording, if requested.
    pub(super) fn begin(args: &WatchArgs, bell: &Bell) -> Result<Option<Self>, Failure> {
        let (Some(keep), Some(output)) = (args.ring, &args.output) else { return Ok(None) };
        let mut moments = Moments::new(keep, output)?;
        bell.listen_to_usr1()?;
        let recorder = Recorder::begin(&Host::this(), "all that ran", None, Beside::default(), &mut moments);
        let recorder = recorder.map_err(refused)?;
        let keep = Duration::from_nanos(Span::as_ns(keep));
        Ok(Some(Self { recorder, moments, keep, written: None, files: 0 }))
    }

    /// Returns a descriptor that is readable when the buffers have filled up.
    pub(super) fn filled(&self) -> BorrowedFd<'_> {
        self.recorder.filled()
    }

    /// Reads what was recorded.
    pub(super) fn drain(&mut self) -> Result<(), Failure> {
        while !self.recorder.drain(&mut self.moments).map_err(refused)? {}
        self.moments.has_failed()
    }

    /// Writes the time before a finding to a file. Returns its path, or `None` if the last file is too recent.
    pub(super) fn found(&mut self, bell: &Bell) -> Result<Option<PathBuf>, Failure> {
        if self.written.is_some_and(|written| written.elapsed() < self.keep) {
            return Ok(None);
        }
        self.write(bell).map(Some)
    }

    /// Writes the time before now to a file, and returns its path.
    pub(super) fn write(&mut self, bell: &Bell) -> Result<PathBuf, Failure> {
        let until = Instant::now() + SETTLE;
        loop {
            self.drain()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || bell.asked() {
                break;
            }
            bell.wait(Some(self.filled()), left);
        }
        (self.written, self.files) = (Some(Instant::now()), self.files + 1);
        self.moments.write()
    }

    /// Returns the number of files so far.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// Waits until the last file is written.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.moments.written()
    }
}

fn refused(error: RecordError) -> Failure {
    failure(error.into())
}
