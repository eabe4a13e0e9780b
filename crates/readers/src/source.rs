//! The interface of every format's reader: records nearly in order of time, facts about the machine, and damage.

use crate::ReadError;
use crate::sched_record::SchedRecord;
use crate::topology::Parts;
use keel_abi::Topology;

/// Records, from the first to the last.
pub(crate) trait Records {
    /// Returns the next record, or `None` at the end or if the file can't be read further.
    ///
    /// # Errors
    /// Nothing of the file can be judged, or the host cannot read it.
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError>;
}

/// A recording that is read from its beginning to its end.
pub(crate) trait Source: Records {
    /// Returns the file's information about itself, as far as it has been read.
    fn facts(&self) -> Facts;

    /// Returns the damage found so far.
    fn damage(&self) -> &Damage;
}

/// A recording's information about the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The number of CPUs that the machine may have; 0 if unknown.
    pub(crate) cpus: u32,
    /// Which CPUs share what.
    pub(crate) parts: Parts,
    /// The resulting topology.
    pub(crate) topology: Option<Topology>,
    /// The kernel's release: untrusted text.
    pub(crate) release: Option<String>,
    /// The command that was recorded: untrusted text.
    pub(crate) command: Option<String>,
    /// Whether the beginnings of all CPUs' buffers were overwritten, so that a CPU's state before its first record is
    /// unknown.
    pub(crate) overwritten: bool,
    /// Whether a CPU's first switch lacks the previous task.
    pub(crate) begins_with_switch: bool,
    /// The number of lost events according to the file whose CPU and time are unknown.
    pub(crate) lost: u64,
}

/// Counts of a file's damage, with the place of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The number of invalid records that were left out.
    pub(crate) skipped: u64,
    /// The offset or line of the first one, and what is wrong.
    pub(crate) first: Option<(u64, &'static str)>,
    /// Where the file ended too early or couldn't be read further, and why.
    pub(crate) ends: Option<(u64, &'static str)>,
    /// The number of records of events that the file does not describe.
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

    /// Notes that the file ends here.
    pub(crate) fn end(&mut self, at: u64, why: &'static str) {
        self.ends.get_or_insert((at, why));
    }
}
