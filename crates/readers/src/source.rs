//! The interface of every format's reader: records nearly in order of time, facts about the machine, and damage.

use crate::ReadError;
use crate::sched_record::SchedRecord;
use crate::topology::Parts;
use keel_abi::Topology;

/// Records, from the first to the last.
pub(crate) trait Records {
    /// The next record; `None` at the end, or if the file can't be read further.
    ///
    /// # Errors
    /// Fails if nothing of the file can be judged, or the host cannot read it.
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError>;
}

/// A recording that is read from its beginning to its end.
pub(crate) trait Source: Records {
    /// The file's information about itself, as far as it has been read.
    fn facts(&self) -> Facts;

    /// The damage found so far.
    fn damage(&self) -> &Damage;
}

/// A recording's information about the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// CPUs that the machine may have; 0 if unknown.
    pub(crate) cpus: u32,
    /// Which CPUs share what.
    pub(crate) parts: Parts,
    /// The resulting topology.
    pub(crate) topology: Option<Topology>,
    /// The kernel's release: untrusted text.
    pub(crate) release: Option<String>,
    /// The command that was recorded: untrusted text.
    pub(crate) command: Option<String>,
    /// The beginnings of all CPUs' buffers were overwritten: a CPU's state before its first record is unknown.
    pub(crate) overwritten: bool,
    /// A CPU's first switch does not give the previous task.
    pub(crate) begins_with_switch: bool,
    /// Lost events according to the file, with unknown CPU and time.
    pub(crate) lost: u64,
}

/// Counts of a file's damage, with the first place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Invalid records that were left out.
    pub(crate) skipped: u64,
    /// The first of them, by its byte or line.
    pub(crate) first: Option<(u64, &'static str)>,
    /// Where the file ended too early or couldn't be read further, and why.
    pub(crate) ends: Option<(u64, &'static str)>,
    /// Records of events that the file does not describe.
    pub(crate) unknown: u64,
    /// Whether the places count lines, not bytes.
    pub(crate) lines: bool,
}

impl Damage {
    /// Counts a skipped record.
    pub(crate) fn skip(&mut self, at: u64, why: &'static str) {
        self.skipped += 1;
        self.first.get_or_insert((at, why));
    }

    /// The file ends here.
    pub(crate) fn end(&mut self, at: u64, why: &'static str) {
        self.ends.get_or_insert((at, why));
    }
}
