//! The scheduler's output (`bpf_printk`), as the kernel's `trace_pipe` would show it.
//!
//! The first lines are kept and the others counted: a scheduler's first lines are the most informative, and memory does
//! not grow with the length of a run.

use keel_abi::{CpuId, Instant, Pid};

/// The number of lines that are kept.
pub const MOST_LINES: usize = 10_000;

/// A line. Its text and the task's name are untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When, by the clock of its CPU.
    pub at: Instant,
    /// The CPU.
    pub cpu: CpuId,
    /// The task that ran there; `<idle>` if none did.
    pub task: Box<str>,
    /// Its pid; 0 if none ran.
    pub pid: Pid,
    /// What was printed, without the newlines at its end.
    pub text: Box<str>,
}

/// Everything that was printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The first [`MOST_LINES`] lines.
    pub lines: Vec<LogLine>,
    /// The number of further lines.
    pub dropped: u64,
}

impl Log {
    /// Returns whether one more line will be kept.
    pub(crate) fn has_room(&self) -> bool {
        self.lines.len() < MOST_LINES
    }

    /// Keeps a line; counts a line that does not fit.
    pub(crate) fn add(&mut self, line: Option<LogLine>) {
        match line {
            Some(line) => self.lines.push(line),
            None => self.dropped += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_are_kept_and_the_others_counted() {
        let line = |i: u64| LogLine {
            at: Instant::from_ns(i),
            cpu: CpuId(0),
            task: "a".into(),
            pid: Pid(1),
            text: "b".into(),
        };
        let mut log = Log::default();
        let most = MOST_LINES as u64;
        for i in 0..most {
            log.add(log.has_room().then(|| line(i)));
        }
        assert_eq!((log.lines.len(), log.dropped), (MOST_LINES, 0));
        for i in most..most + 7 {
            log.add(log.has_room().then(|| line(i)));
        }
        assert_eq!((log.lines.len(), log.dropped), (MOST_LINES, 7));
        assert_eq!(log.lines.last(), Some(&line(most - 1)));
    }
}
