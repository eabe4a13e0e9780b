//! Untrusted text and times, formatted for people.

use crate::lines::Key;
use keel_abi::numbers::{figures, percent};

/// The maximum length of a source line that is shown, in characters.
const MOST_CHARS: usize = 60;

/// Untrusted text on one line, with its control characters escaped.
pub(crate) fn clean(text: &str) -> String {
    let escaped = |c: char| match c {
        '\t' => " ".to_owned(),
        c if c.is_control()
            || ('\u{200b}'..='\u{202e}').contains(&c)
            || ('\u{2060}'..='\u{206f}').contains(&c) =>
        {
            c.escape_default().collect()
        }
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Returns a source line, truncated if it is long.
pub(crate) fn source(text: &str) -> String {
    let clean = clean(text.trim());
    match clean.chars().count() > MOST_CHARS {
        true => clean.chars().take(MOST_CHARS - 1).chain(['…']).collect(),
        false => clean,
    }
}

/// `o1.bpf.c:40`, without the folder. The function if there is no line.
pub(crate) fn place(key: &Key) -> String {
    if key.line == 0 {
        return format!("{}()", clean(&key.function));
    }
    format!("{}:{}", clean(key.file.rsplit('/').next().unwrap_or(&key.file)), key.line)
}

/// Picoseconds as a time with three digits.
pub(crate) fn time(ps: u64) -> String {
    match ps {
        0 => "0".to_owned(),
        ps if ps >= 1_000_000_000_000 => format!("{} s", figures(ps as f64 / 1e12)),
        ps if ps >= 1_000_000_000 => format!("{} ms", figures(ps as f64 / 1e9)),
        ps if ps >= 1_000_000 => format!("{} µs", figures(ps as f64 / 1e6)),
        ps => format!("{} ns", figures(ps as f64 / 1e3)),
    }
}

/// Returns a part of a whole. Empty if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> String {
    percent(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
}

/// Rows as columns of equal width. The last column is unchanged, all others are aligned to the right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            if at + 1 == count {
                line += &format!("  {cell}");
            } else {
                let pad = widths[at] - cell.chars().count();
                line += &format!("  {}{cell}", " ".repeat(pad));
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
