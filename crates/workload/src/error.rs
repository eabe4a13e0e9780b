//! Errors in and warnings about a workload file: file, line, field, one sentence.

use std::fmt;

/// Why a workload file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", prefix(.field))]
pub struct WorkloadError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The keys that lead there, joined by dots; empty if the text is not JSON at all.
    pub field: String,
    /// What is wrong, and what to do.
    pub problem: String,
    /// Whether the file is valid, but uses a feature of rt-app that is not supported.
    pub unsupported: bool,
}

/// Something in a workload file that has no effect, or not quite the same effect as in rt-app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The keys that lead there, joined by dots.
    pub field: String,
    /// What the user should know.
    pub note: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}{}", self.file, self.line, prefix(&self.field), self.note)
    }
}

fn prefix(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}

/// Makes untrusted text safe to print: escapes control characters and truncates long text.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 48;
    let cut = text.chars().count() > LONGEST;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    // Quotes needn't be escaped in a sentence.
    shown = shown.replace("\\'", "'").replace("\\\"", "\"");
    if cut {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_is_escaped_and_cut() {
        let check = |text: &str, expected: &str| assert_eq!(shown(text), expected);
        check("thread0", "thread0");
        check("a\u{1b}[2J\n", "a\\u{1b}[2J\\n");
        check(&"x".repeat(60), &format!("{}...", "x".repeat(48)));
    }
}
