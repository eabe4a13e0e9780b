//! A finding of a check, as data and as one plain sentence.
//!
//! Names of tasks are untrusted text: [`escape`] makes them safe to print before they enter a
//! sentence.

use crate::origin::Decision;
use keel_abi::{CpuId, Instant, Pid, Span, TaskId};
use keel_trace::Unknown;
use std::fmt::Write;
use std::sync::Arc;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A CPU idled while a task that may run there waited.
    WastedCore,
    /// A task was runnable but did not run for too long.
    Starvation,
    /// A task was woken, but ran late.
    LongDelay,
    /// A task migrated more often than its running time justifies.
    Bouncing,
    /// A CPU ran one task for a long time while others waited there.
    Stall,
    /// A less urgent task kept a real-time task waiting.
    PriorityInversion,
    /// A real-time task waited while another CPU that it may use ran nothing as urgent.
    MisplacedRealtime,
    /// A task got far less CPU time than its weight entitles it to.
    UnfairShare,
    /// A task or a CPU waited a long time for a lock.
    LockWait,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::WastedCore,
        Self::Starvation,
        Self::LongDelay,
        Self::Bouncing,
        Self::Stall,
        Self::PriorityInversion,
        Self::MisplacedRealtime,
        Self::UnfairShare,
        Self::LockWait,
    ];

    /// Its stable name, as in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WastedCore => "wasted_core",
            Self::Starvation => "starvation",
            Self::LongDelay => "long_delay",
            Self::Bouncing => "bouncing",
            Self::Stall => "stall",
            Self::PriorityInversion => "priority_inversion",
            Self::MisplacedRealtime => "misplaced_realtime",
            Self::UnfairShare => "unfair_share",
            Self::LockWait => "lock_wait",
        }
    }

    /// Returns whether a finding of this kind could turn out to be none if the recording were complete. A task that seems
    /// to wait may be throttled, and an idle CPU may be one that it may not use.
    pub const fn rests_on(self, unknown: Unknown) -> bool {
        match self {
            Self::WastedCore => unknown.affinity || unknown.throttling,
            Self::Starvation | Self::LongDelay | Self::Stall | Self::UnfairShare => unknown.throttling,
            Self::Bouncing | Self::PriorityInversion | Self::MisplacedRealtime | Self::LockWait => false,
        }
    }
}

/// Who is to blame for a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blame {
    /// The scheduler or the kernel: the checks look for these findings.
    #[default]
    Scheduler,
    /// The program itself: no scheduler could have done better. The finding is reported, but does not count.
    Program,
}

impl Blame {
    /// Its stable name, as in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Program => "program",
        }
    }
}

/// One finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// Who is to blame.
    pub blame: Blame,
    /// When it began.
    pub start: Instant,
    /// How long it lasted.
    pub duration: Span,
    /// The threshold; docs/reference/findings.md says for each kind which value must exceed it or fall short of it.
    pub threshold: Span,
    /// The CPUs involved.
    pub cpus: Vec<CpuId>,
    /// The tasks involved, the victim first.
    pub tasks: Vec<TaskId>,
    /// When the events that show it happened, in order.
    pub events: Vec<Instant>,
    /// The decision that had put the first task where it was for most of the time; `None` if the stream has none.
    pub decision: Option<Decision>,
    /// One sentence for people, without a full stop. Safe to print.
    pub text: String,
}

/// The longest name that is stored or shown, in characters.
pub const NAME_MAX: usize = 64;

/// [`escape_all`] for a name, which is cut at [`NAME_MAX`].
pub fn escape(name: &str) -> String {
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => escape_all(&name[..end]) + "…",
        None => escape_all(name),
    }
}

/// Makes `text` safe to print: control characters and those that reorder or hide text become `\u{..}`.
pub fn escape_all(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => shown.push_str("\\\\"),
            c if misleads(c) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{{{:x}}}", c as u32);
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Controls, invisible and direction-changing characters, line separators, tags.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c as u32,
            0xAD | 0x61C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F
            | 0xFEFF | 0xFFF0..=0xFFFB | 0xE0000..=0xE0FFF)
}

/// At most [`NAME_MAX`] characters of `name`, and one more if it is longer, so that [`escape`] still shows that it was
/// cut.
pub(crate) fn kept(name: &str) -> String {
    name.chars().take(NAME_MAX + 1).collect()
}

/// Like `kept`, to be kept by several checks.
pub(crate) fn shared(name: &str) -> Arc<str> {
    kept(name).into()
}

/// A task as a sentence names it: `worker-3 (pid 1007)`.
pub(crate) fn called(name: &str, pid: Pid, task: TaskId) -> String {
    match name {
        "" if pid == Pid(0) => format!("number {task}"),
        "" => format!("without a name (pid {pid})"),
        name => format!("{} (pid {pid})", escape(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_shown_and_do_nothing() {
        let check = |name: &str, expected: &str| assert_eq!(escape(name), expected);
        check("worker-3", "worker-3");
        check("a\x1b[31mred\n", "a\\u{1b}[31mred\\u{a}");
        check("evil\u{202e}txt", "evil\\u{202e}txt");
        check("back\\slash", "back\\\\slash");
        check("größe", "größe");
        check(&"x".repeat(100), &format!("{}…", "x".repeat(64)));
        check(&kept(&"x".repeat(100)), &format!("{}…", "x".repeat(64)));
        assert_eq!(escape_all(&"\n".repeat(100)), "\\u{a}".repeat(100));
    }
}
