//! What every format's reader gives: records nearly in the order of time, facts about the machine, and what was wrong.

use crate::ReadError;
use crate::sched_record::SchedRecord;
use crate::topology::Parts;
use keel_abi::Topology;

/// Records, from the first to the last.
pub(crate) trait Records {
    /// The next record; `None` at the end, or where the file can be read no further.
    ///
    /// # Errors
    /// Where nothing of the file can be judged, or the host cannot read it.
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError>;
}

/// A recording that is read from its beginning to its end.
pub(crate) trait Source: Records {
    /// What the file says about itself, as far as it was read.
    fn facts(&self) -> Facts;

    /// What was wrong with the file so far.
    fn damage(&self) -> &Damage;
}

/// What a recording says about the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// CPUs that the machine may have; 0 where unknown.
    pub(crate) cpus: u32,
    /// Which CPUs share what.
    pub(crate) parts: Parts,
    /// The shape that follows from it.
    pub(crate) topology: Option<Topology>,
    /// The kernel's release: untrusted text.
    pub(crate) release: Option<String>,
    /// The command that was recorded: untrusted text.
    pub(crate) command: Option<String>,
    /// The beginnings of all CPUs' buffers were overwritten: what a CPU did before its first record is unknown.
    pub(crate) overwritten: bool,
    /// A CPU's first switch does not say who ran before it.
    pub(crate) begins_with_switch: bool,
    /// Events that the file says were lost, whose CPU and time are unknown.
    pub(crate) lost: u64,
}

/// What is wrong with a file, counted, with the first place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Records that were left out because they make no sense.
    pub(crate) skipped: u64,
    /// The first of them, by its byte or line.
    pub(crate) first: Option<(u64, &'static str)>,
    /// Where the file ended too early or could be read no further, and why.
    pub(crate) ends: Option<(u64, &'static str)>,
    /// Records of events that the file does not describe.
    pub(crate) unknown: u64,
    /// Do the places count lines, not bytes?
    pub(crate) lines: bool,
}

impl Damage {
    /// One more record is left out.
    pub(crate) fn skip(&mut self, at: u64, why: &'static str) {
        self.skipped += 1;
        self.first.get_or_insert((at, why));
    }

    /// Here it ends.
    pub(crate) fn end(&mut self, at: u64, why: &'static str) {
        self.ends.get_or_insert((at, why));
    }
}
