//! Reads the kernel's messages about sched_ext, from some moment on.

use crate::host::Host;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// The maximum length of a record in the kernel (`PRINTK_MESSAGE_MAX`).
const RECORD: usize = 8192;
/// The maximum number of lines that are kept.
const MOST: usize = 200;

/// A position in the kernel's log.
#[derive(Debug)]
pub(crate) struct KernelLog(Option<File>);

impl KernelLog {
    /// Returns the current position. If this process is not allowed to read the log, there will be no lines.
    pub(crate) fn now(host: &Host) -> Self {
        let flags = OFlags::NONBLOCK.bits() as i32;
        let opened = File::options().read(true).custom_flags(flags).open(host.path("dev/kmsg"));
        Self(opened.ok().and_then(|mut file| file.seek(SeekFrom::End(0)).is_ok().then_some(file)))
    }

    /// Returns the kernel's messages about sched_ext since then, one record per line.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let Some(file) = &mut self.0 else { return Vec::new() };
        let (mut lines, mut record) = (Vec::new(), vec![0; RECORD]);
        while lines.len() < MOST {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(len) => lines.extend(message(&String::from_utf8_lossy(&record[..len]))),
                // Records were overwritten before they were read. The next read continues after them.
                Err(e) if e.kind() == ErrorKind::BrokenPipe || e.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        lines
    }
}

/// Returns the text of a record `6,1234,5678,-;text` that is about sched_ext.
fn message(record: &str) -> Option<String> {
    let (_, text) = record.split_once(';')?;
    let text = text.lines().next()?.trim_end();
    text.starts_with("sched_ext: ").then(|| text.trim_start_matches("sched_ext: ").to_owned())
}

/// Returns the reason in the kernel's line about a scheduler's exit: `BPF scheduler "x" disabled (reason)`.
pub(crate) fn reason(lines: &[String]) -> Option<String> {
    let line = lines.iter().rev().find(|line| line.contains("\" disabled ("))?;
    let (_, reason) = line.split_once("\" disabled (")?;
    Some(reason.trim_end_matches(')').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_about_sched_ext_are_read() {
        let check =
            |record, expected: Option<&str>| assert_eq!(message(record).as_deref(), expected, "{record}");
        check(
            "6,339,5140900,-;sched_ext: o1: runnable task stall\n SUBSYSTEM=x\n",
            Some("o1: runnable task stall"),
        );
        check("6,339,5140900,-;usb 1-1: new device\n", None);
        check("nonsense", None);
    }

    #[test]
    fn the_reason_is_found() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let log =
            "BPF scheduler \"o1\" enabled\nBPF scheduler \"o1\" disabled (runnable task stall)\no1: more";
        assert_eq!(reason(&lines(log)).as_deref(), Some("runnable task stall"));
        assert_eq!(reason(&lines("BPF scheduler \"o1\" enabled")), None);
    }
}
