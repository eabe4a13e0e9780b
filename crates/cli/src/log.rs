//! Formats a scheduler's output (`bpf_printk`) in the columns of the kernel's `trace_pipe`: task, pid, CPU, seconds,
//! text.

use crate::text::shown;
use keel_lab::Log;
use std::fmt::Write;

/// Returns the log as text. If a message has several lines, each gets the columns. Characters that could mislead a
/// terminal are escaped.
pub(crate) fn text(log: &Log) -> String {
    let mut text = String::new();
    for line in &log.lines {
        let (task, at) = (shown(&line.task), line.at.as_ns());
        let (seconds, ns) = (at / 1_000_000_000, at % 1_000_000_000);
        for said in line.text.split('\n') {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{task:>16}-{:<7} [{:03}] {seconds:>5}.{ns:09}: {}",
                line.pid.0,
                line.cpu.0,
                shown(said)
            );
        }
    }
    match log.dropped {
        0 => {}
        1 => text += "1 more message is left out\n",
        more => text += &format!("{more} more messages are left out\n"),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{CpuId, Instant, Pid};
    use keel_lab::LogLine;

    #[test]
    fn lines_have_their_place_and_are_escaped() {
        let line = |at, task: &str, pid, text: &str| LogLine {
            at: Instant::from_ns(at),
            cpu: CpuId(7),
            task: task.into(),
            pid: Pid(pid),
            text: text.into(),
        };
        let lines = vec![
            line(34_930_120, "mix-50us", 2, "hello 5"),
            line(12_000_000_001, "<idle>", 0, "two\nlines \x1b[31m\u{202e}"),
            line(12_000_000_002, "e\x07vil", 123_456, ""),
        ];
        let expected = "        mix-50us-2       [007]     0.034930120: hello 5\n\
                        \x20         <idle>-0       [007]    12.000000001: two\n\
                        \x20         <idle>-0       [007]    12.000000001: lines \\u{1b}[31m\\u{202e}\n\
                        \x20      e\\u{7}vil-123456  [007]    12.000000002: \n\
                        1 more message is left out\n";
        assert_eq!(text(&Log { lines, dropped: 1 }), expected);
        assert_eq!(text(&Log { lines: Vec::new(), dropped: 12 }), "12 more messages are left out\n");
        assert_eq!(text(&Log::default()), "");
    }
}
