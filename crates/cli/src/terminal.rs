//! What the host reports about a terminal.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// The terminal of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// The number of columns.
    pub(crate) columns: u16,
    /// The number of lines.
    pub(crate) rows: u16,
    /// Whether colour is supported and not disabled (`NO_COLOR`, `TERM=dumb`).
    pub(crate) colour: bool,
    /// Whether the cursor can be moved.
    pub(crate) cursor: bool,
}

impl Terminal {
    /// Returns the terminal of a stream, if it has one.
    pub(crate) fn of(stream: &(impl AsFd + IsTerminal)) -> Option<Self> {
        if !stream.is_terminal() {
            return None;
        }
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let cursor = set("TERM").is_some_and(|term| term != "dumb");
        let size = terminal_size::terminal_size_of(stream);
        let (columns, rows) = size.map_or((80, 24), |(width, height)| (width.0, height.0));
        Some(Self { columns, rows, colour: cursor && set("NO_COLOR").is_none(), cursor })
    }
}
