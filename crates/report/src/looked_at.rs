//! The CPUs that decisions around a finding looked at, as text and for JSON.

use crate::policy::sentence;
use keel_abi::numbers::count;
use keel_check::LookedAt;
use serde::Serialize;

/// The maximum number of rows in the text of one finding.
const SHOWN: usize = 4;

/// Decisions of one kind, at one level, by or for one CPU, with one outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LookedAtReport {
    /// When the first of them was made.
    pub first_ns: u64,
    /// Their number.
    pub times: u32,
    /// The CPU that decided, or for which the decision was made.
    pub cpu: u32,
    /// The CPUs that any of them looked at.
    pub considered: Vec<u32>,
    /// The last of them as a sentence, safe to print.
    pub text: String,
}

impl LookedAtReport {
    /// Returns one row.
    pub fn new(row: &LookedAt) -> Self {
        Self {
            first_ns: row.first.as_ns(),
            times: row.times,
            cpu: row.policy.cpu.0,
            considered: row.considered.iter().map(|cpu| cpu.0).collect(),
            text: sentence(&row.policy),
        }
    }
}

/// Returns an indented line for each of the first rows, or empty if there are none.
pub(crate) fn lines(rows: &[LookedAtReport]) -> String {
    let mut text = String::new();
    for LookedAtReport { times, text: what, .. } in rows.iter().take(SHOWN) {
        let times = if *times == 1 { String::new() } else { format!(", {} times", count((*times).into())) };
        text += &format!("  {what}{times}\n");
    }
    if rows.len() > SHOWN {
        text += &format!("  and {} more kinds of decisions\n", rows.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_lines() {
        let row =
            |times, text: &str| LookedAtReport { times, text: text.to_owned(), ..LookedAtReport::default() };
        let check = |rows: &[LookedAtReport], expected: &str| assert_eq!(lines(rows), expected);
        check(&[], "");
        check(&[row(1, "a"), row(1200, "b")], "  a\n  b, 1,200 times\n");
        let many: Vec<_> = (0..6).map(|_| row(1, "a")).collect();
        check(&many, "  a\n  a\n  a\n  a\n  and 2 more kinds of decisions\n");
    }
}
