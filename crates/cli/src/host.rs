//! What the host says of this process and its terminal.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// A terminal that a stream goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Characters in a line.
    pub(crate) columns: u16,
    /// Lines.
    pub(crate) rows: u16,
    /// Colour is understood, and not unwanted (`NO_COLOR`, `TERM=dumb`).
    pub(crate) colour: bool,
    /// The cursor can be moved.
    pub(crate) cursor: bool,
}

impl Terminal {
    /// The terminal behind a stream, if there is one.
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

/// The most memory that this process has had, in bytes; `None` where the host does not tell.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    peak_rss_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// `VmHWM` in the text of `/proc/PID/status`.
fn peak_rss_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::peak_rss_in;

    #[test]
    fn the_high_water_mark_is_read() {
        let check = |text, expected| assert_eq!(peak_rss_in(text), expected, "{text}");
        check("Name:\tkeel\nVmPeak:\t  9 kB\nVmHWM:\t    2048 kB\n", Some(2 << 20));
        check("VmHWM:\t x kB", None);
        check("", None);
    }
}
