//! What a real kernel does with each object: `tests/objects/expected-7.2.tsv`.

use crate::Failure;
use crate::tree::root;
use std::collections::BTreeMap;

/// Its path from the root.
const PATH: &str = "tests/objects/expected-7.2.tsv";

/// How an object ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It attaches, schedules and detaches.
    Survives,
    /// It does not load.
    Refused,
    /// It attaches, and the kernel ends it.
    Ended,
    /// The verifier accepts it, but a kernel that ran it would hang.
    Hangs,
}

/// The expectation for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// How it ends.
    pub(super) outcome: Outcome,
    /// The kernel's reason, if it ends the object.
    pub(super) reason: String,
    /// The message of the kernel or the loader. `*` stands for anything. Empty if there is no message.
    pub(super) words: String,
}

/// The expectations for all objects.
#[derive(Debug)]
pub(super) struct Expected(BTreeMap<String, Row>);

impl Expected {
    /// For one object: the table's entry, or else that it survives.
    pub(super) fn of(&self, object: &str) -> Row {
        let survives = || Row { outcome: Outcome::Survives, reason: String::new(), words: String::new() };
        self.0.get(object).cloned().unwrap_or_else(survives)
    }
}

/// Reads the table.
pub(super) fn read() -> Result<Expected, Failure> {
    let text = std::fs::read_to_string(root().join(PATH)).map_err(|e| format!("{PATH}: {e}"))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Expected, Failure> {
    let mut rows = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let fault = |what: &str| format!("{PATH}:{}: {what}", number + 1);
        let words: Vec<&str> = line.split('\t').collect();
        let [object, outcome, reason, words] = words[..] else {
            return Err(fault("object, outcome, reason and words expected, with tabs between"));
        };
        let outcome = match outcome {
            "survives" => Outcome::Survives,
            "refused" => Outcome::Refused,
            "ended" => Outcome::Ended,
            "hangs" => Outcome::Hangs,
            other => {
                return Err(fault(&format!(
                    "outcome '{other}' is not one of survives, refused, ended, hangs"
                )));
            }
        };
        rows.insert(object.to_owned(), Row { outcome, reason: reason.into(), words: words.into() });
    }
    Ok(Expected(rows))
}

/// Whether the text matches a pattern in which `*` stands for anything.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let check =
            |pattern, text, expected| assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        check("a b", "a b", true);
        check("a b", "a bc", false);
        check("*[*] failed to run for *s", "init[63] failed to run for 2.3s", true);
        check("*[*] failed", "init failed", false);
        check("x*x", "x", false);
        check("*", "", true);
    }

    #[test]
    fn the_table_is_read_or_refused_by_line() {
        let table = parse("# a\nstall\tended\trunnable task stall\t*\n").unwrap();
        assert_eq!(table.of("stall").outcome, Outcome::Ended);
        assert_eq!(table.of("fifo").outcome, Outcome::Survives);
        assert!(parse("a\tb\n").unwrap_err().contains(":1:"));
        assert!(parse("a\tdies\t\t\n").unwrap_err().contains("dies"));
    }
}
