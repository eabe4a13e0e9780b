//! keel's output for people uses plain words, and no number in scientific notation.
//!
//! Goldens contain what is printed. Goldens that contain JSON are for programs and are not checked. Help texts and
//! messages are the doc comments and strings in `crates/cli/src`.

use super::{all_or, docs};
use crate::Failure;
use crate::tree::{File, files};

pub(super) fn run() -> Result<(), Failure> {
    all_or(files()?.iter().flat_map(faults).collect())
}

/// The faults of a file that contains output or messages. Empty for any other file.
fn faults(file: &File) -> Vec<String> {
    let is_golden = file.path.ends_with(".snap") && !is_json(golden(&file.text));
    let has_messages = file.path.starts_with("crates/cli/src/") && file.path.ends_with(".rs");
    let mut faults = Vec::new();
    for (nth, line) in file.text.lines().enumerate() {
        let place = format!("{}:{}", file.path, nth + 1);
        if is_golden && let Some(number) = scientific(line) {
            faults.push(format!("{place} says '{number}'; write it out, with a unit that fits"));
        }
        if is_golden || has_messages && is_message(line) {
            let words = docs::private(line).into_iter();
            faults.extend(words.map(|(word, instead)| format!("{place} says '{word}'; say {instead}")));
        }
    }
    faults
}

/// The contents of a golden, without insta's header.
fn golden(text: &str) -> &str {
    text.splitn(3, "---\n").nth(2).unwrap_or(text)
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Whether people may read text in this line.
fn is_message(line: &str) -> bool {
    line.trim_start().starts_with("///") || line.contains('"')
}

/// The first number like `1.1e-5`, ignoring colours and hashes.
fn scientific(line: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-+#_".contains(c);
    line.split(|c| !is_part(c))
        .map(|word| word.trim_matches(['.', '-', '+']))
        .find(|word| is_scientific(word))
}

fn is_scientific(word: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    word.split_once('e').is_some_and(|(number, power)| {
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        is_digits(whole) && is_digits(part) && is_digits(power.trim_start_matches(['-', '+']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(faults(&File { path: path.into(), text: text.into() }), expected);
    }

    #[test]
    fn goldens_for_people_have_no_scientific_notation() {
        let said = ["a.snap:4 says '1.1e-5'; write it out, with a unit that fits"];
        check("a.snap", "---\nsource: x\n---\nlocks 1.1e-5 core-seconds", &said);
        check("a.snap", "---\nsource: x\n---\n#7e5 662e18f7 0.5 12 µs", &[]);
        check("a.snap", "---\nsource: x\n---\n{\"a\": 1.1e-5, \"cured\": 2}", &[]);
    }

    #[test]
    fn goldens_and_messages_have_no_private_words() {
        check("a.snap", "2 cured", &["a.snap:1 says 'cured'; say fixed"]);
        check("crates/cli/src/a.rs", "/// It is cured.", &["crates/cli/src/a.rs:1 says 'cured'; say fixed"]);
        check("crates/cli/src/a.rs", "let cured = 1;", &[]);
        check("crates/report/src/a.rs", "let s = \"cured\";", &[]);
    }
}
