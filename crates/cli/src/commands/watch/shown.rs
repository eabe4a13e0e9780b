//! Shows a watch's output: as a screen that is redrawn on a terminal, as lines in pipes and files.

use crate::failure::Failure;
use crate::inputs::reason;
use crate::terminal::Terminal;
use keel_live::watch::Look;
use keel_report::Style;
use keel_report::watch::{Now, WatchBegin, WatchEnd, WatchFinding, WatchLine, line, screen};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;

/// The number of findings that a screen remembers.
const LAST: usize = 200;

/// The output so far.
pub(super) struct Shown {
    begin: WatchBegin,
    how: How,
    last: Vec<WatchFinding>,
    /// The number of lines currently on the screen.
    drawn: usize,
    is_unread: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Json,
    Lines,
    Screen,
}

impl Shown {
    /// Creates an output that has shown nothing yet.
    pub(super) fn new(as_json: bool, begin: WatchBegin) -> Self {
        let terminal = Terminal::of(&std::io::stdout()).filter(|terminal| terminal.cursor);
        let how = match (as_json, terminal) {
            (true, _) => How::Json,
            (false, Some(_)) => How::Screen,
            (false, None) => How::Lines,
        };
        Self { begin, how, last: Vec::new(), drawn: 0, is_unread: false }
    }

    /// Returns whether nobody reads the output any more.
    pub(super) fn is_unread(&self) -> bool {
        self.is_unread || is_closed(&std::io::stdout())
    }

    /// Shows the first line.
    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        self.line(WatchLine::Begin(self.begin.clone()))
    }

    /// Shows a line. A screen shows it the next time it is drawn.
    pub(super) fn line(&mut self, reported: WatchLine) -> Result<(), Failure> {
        let is_end = matches!(reported, WatchLine::End(_));
        match self.how {
            How::Json => {
                let text = serde_json::to_string(&reported).expect("lines have only string keys");
                self.write(&(text + "\n"))
            }
            How::Screen if !is_end => {
                if let WatchLine::Finding(finding) = reported {
                    let most = self.last.len().saturating_sub(LAST - 1);
                    self.last.drain(..most);
                    self.last.push(finding);
                }
                Ok(())
            }
            How::Lines | How::Screen => self.write(&line(&reported).unwrap_or_default()),
        }
    }

    /// Draws the screen after a sample.
    pub(super) fn look(&mut self, scheduler: &str, look: &Look, sums: &WatchEnd) -> Result<(), Failure> {
        let terminal = Terminal::of(&std::io::stdout()).filter(|_| self.how == How::Screen);
        let Some(terminal) = terminal else { return Ok(()) };
        let now = Now {
            scheduler: scheduler.to_owned(),
            online: look.online,
            idle: look.idle,
            waiting: look.waiting,
        };
        let style = Style { width: terminal.columns, colour: terminal.colour };
        // The cursor is on the line below.
        let rows = usize::from(terminal.rows).saturating_sub(1);
        let lines = screen(&self.begin, &now, sums, &self.last, style, rows);
        let text = drawn(self.drawn, &lines);
        self.drawn = lines.len();
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.is_unread = true;
                Ok(())
            }
            Err(e) => Err(Failure::input(format!("stdout cannot be written: {}", reason(&e)))),
            Ok(()) => Ok(()),
        }
    }
}

/// Returns whether the reader has closed this pipe.
fn is_closed(out: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(out, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().contains(PollFlags::ERR)
}

/// Returns text that replaces the `before` lines above the cursor with these lines, and leaves the cursor below them.
fn drawn(before: usize, lines: &[String]) -> String {
    let mut text = String::new();
    if before > 0 {
        text += &format!("\x1b[{before}A");
    }
    // Clears the rest of the screen, so that nothing remains of a wrapped line.
    text += "\r\x1b[J";
    for line in lines {
        text += line;
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_leaves_is_noticed() {
        let (reader, writer) = std::io::pipe().unwrap();
        assert!(!is_closed(&writer));
        drop(reader);
        assert!(is_closed(&writer));
    }

    #[test]
    fn a_screen_replaces_the_one_before() {
        let check = |before, lines: &[&str], expected: &str| {
            let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
            assert_eq!(drawn(before, &lines), expected);
        };
        check(0, &["a", "b"], "\r\x1b[Ja\nb\n");
        check(2, &["a"], "\x1b[2A\r\x1b[Ja\n");
    }
}
