//! Determines why the kernel ended a scheduler: from the copy of `struct scx_exit_info` that the scheduler's own
//! `ops.exit` stores, or else from the kernel's log.
//!
//! The copy is found by its layout: a global struct with `kind`, `reason`, `msg`, and `exit_code` or `code`. The
//! project's schedulers have it, and so do those that use the scx headers.

use crate::kernel_log;
use keel_abi::scx::ExitKind;
use keel_object::Outline;

/// `SCX_ECODE_ACT_RESTART`: the kernel requests that the scheduler be attached again.
pub const RESTART: u64 = 1 << 48;
/// `SCX_EXIT_SYSRQ`: the machine's operator ended it.
const SYSRQ: u32 = 67;

/// How a scheduler ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitReport {
    /// `enum scx_exit_kind`. 0 if unknown.
    pub kind: u32,
    /// The exit code: `SCX_ECODE_*` or the scheduler's own.
    pub code: u64,
    /// The kernel's name for the kind.
    pub reason: String,
    /// What happened, in the kernel's words, or in the scheduler's if it ended itself. May be empty.
    pub message: String,
    /// The kernel log's messages about sched_ext in the meantime.
    pub log: Vec<String>,
    /// The kernel's dump, if the scheduler stores it. Otherwise empty.
    pub dump: String,
}

impl ExitReport {
    /// Returns whether the kernel requests a restart (a CPU came online or went offline).
    pub fn wants_restart(&self) -> bool {
        self.code & RESTART != 0 && self.kind < ExitKind::Error as u32
    }

    /// Returns whether it ended for another reason than its user's request.
    pub fn is_failure(&self) -> bool {
        let wished = [ExitKind::Unreg.reason(), "disabled by sysrq-S"];
        match self.kind {
            0 => !wished.contains(&self.reason.as_str()),
            kind => ![ExitKind::Done as u32, ExitKind::Unreg as u32, SYSRQ].contains(&kind),
        }
    }

    /// Returns whether it has ended at all.
    pub(crate) fn is_there(&self) -> bool {
        self.kind != 0 || !self.reason.is_empty()
    }

    /// Completes the report from the kernel's log.
    pub(crate) fn with_log(mut self, log: Vec<String>) -> Self {
        if self.reason.is_empty() {
            self.reason = kernel_log::reason(&log).unwrap_or_default();
        }
        self.log = log;
        self
    }

    /// Returns the reason and the message in one sentence.
    pub fn sentence(&self) -> String {
        let said = match (self.reason.as_str(), self.message.as_str()) {
            ("", "") => "without a message".to_owned(),
            (reason, "") => reason.to_owned(),
            ("", message) => message.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        };
        match self.code {
            0 => said,
            code => format!("{said} (exit code {code:#x})"),
        }
    }
}

/// Where an object stores its copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The data section's name.
    pub(crate) section: String,
    /// Offset and size of each member, in bytes.
    kind: (usize, usize),
    code: (usize, usize),
    reason: (usize, usize),
    message: (usize, usize),
    /// The dump's section, offset and size.
    pub(crate) dump: Option<(String, usize, usize)>,
}

impl Record {
    /// Returns the copy of an object, if it has one.
    pub(crate) fn find(outline: &Outline) -> Option<Self> {
        let object = &outline.object;
        object.variables.iter().filter(|variable| variable.signed.is_none()).find_map(|variable| {
            let ty = outline.struct_of(&variable.name)?;
            let member = |name: &str| {
                let field = outline.btf.field_of(ty, name)?;
                Some(((variable.offset + field.offset) as usize, field.size as usize))
            };
            let dump = object.variables.iter().find(|other| other.name == format!("{}_dump", variable.name));
            let section = |map: u32| object.maps[map as usize].name.clone();
            Some(Self {
                section: section(variable.map),
                kind: member("kind")?,
                code: member("exit_code").or_else(|| member("code"))?,
                reason: member("reason")?,
                message: member("msg")?,
                dump: dump.map(|dump| (section(dump.map), dump.offset as usize, dump.size as usize)),
            })
        })
    }

    /// Reads the report from a section's bytes.
    pub(crate) fn read(&self, section: &[u8]) -> ExitReport {
        ExitReport {
            kind: number(section, self.kind) as u32,
            code: number(section, self.code),
            reason: text(section, self.reason),
            message: text(section, self.message),
            ..ExitReport::default()
        }
    }
}

fn part(bytes: &[u8], (start, len): (usize, usize)) -> &[u8] {
    bytes.get(start..).and_then(|rest| rest.get(..len)).unwrap_or_default()
}

pub(crate) fn number(bytes: &[u8], place: (usize, usize)) -> u64 {
    let mut word = [0; 8];
    let bytes = part(bytes, place);
    let len = bytes.len().min(8);
    word[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(word)
}

/// Reads a C string.
pub(crate) fn text(bytes: &[u8], place: (usize, usize)) -> String {
    let bytes = part(bytes, place).split(|&b| b == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(kind: u32, code: u64, reason: &str, message: &str) -> ExitReport {
        let (reason, message) = (reason.into(), message.into());
        ExitReport { kind, code, reason, message, ..ExitReport::default() }
    }

    #[test]
    fn records_are_read_from_memory() {
        let record = Record {
            section: ".bss".into(),
            kind: (8, 4),
            code: (16, 8),
            reason: (24, 8),
            message: (32, 8),
            dump: None,
        };
        let mut bytes = [0; 40];
        bytes[8..12].copy_from_slice(&1026u32.to_le_bytes());
        bytes[16..24].copy_from_slice(&7u64.to_le_bytes());
        bytes[24..29].copy_from_slice(b"stall");
        bytes[32..40].copy_from_slice(b"no end!!");
        assert_eq!(record.read(&bytes), report(1026, 7, "stall", "no end!!"));
        assert_eq!(record.read(&bytes[..20]), report(1026, 0, "", ""), "nothing is read beyond");
    }

    #[test]
    fn ends_are_judged() {
        let check = |report: ExitReport, fails, restarts| {
            assert_eq!((report.is_failure(), report.wants_restart()), (fails, restarts), "{report:?}");
        };
        check(report(64, 0, "unregistered from user space", ""), false, false);
        check(report(65, 5, "unregistered from BPF", "bye"), true, false);
        check(report(66, RESTART | 1 << 32, "unregistered from the main kernel", "cpu 3"), true, true);
        check(report(67, 0, "disabled by sysrq-S", ""), false, false);
        check(report(1024, RESTART, "runtime error", ""), true, false);
        check(report(1026, 0, "runnable task stall", ""), true, false);
        check(report(0, 0, "unregistered from user space", ""), false, false);
        check(report(0, 0, "", ""), true, false);
    }

    #[test]
    fn ends_are_reported_in_one_sentence() {
        let check = |report: ExitReport, expected| assert_eq!(report.sentence(), expected);
        check(
            report(1026, 0, "runnable task stall", "sh[1] failed to run for 2.1s"),
            "runnable task stall: sh[1] failed to run for 2.1s",
        );
        check(report(65, 2, "unregistered from BPF", ""), "unregistered from BPF (exit code 0x2)");
        check(report(0, 0, "", ""), "without a message");
        let log = vec!["BPF scheduler \"x\" disabled (runtime error)".to_owned()];
        check(report(0, 0, "", "").with_log(log), "runtime error");
    }
}
