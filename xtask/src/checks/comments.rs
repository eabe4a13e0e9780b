//! Comments use plain words, in every language of the project. So do the tables in `tests`, whose last columns are
//! sentences.

use super::{all_or, docs};
use crate::Failure;
use crate::tree::{File, files};

pub(super) fn run() -> Result<(), Failure> {
    all_or(files()?.iter().flat_map(faults).collect())
}

/// The private words in a file's comments. Empty for files of other kinds.
fn faults(file: &File) -> Vec<String> {
    let Some(comment) = Comment::of(&file.path) else { return Vec::new() };
    let mut faults = Vec::new();
    for (nth, line) in file.text.lines().enumerate() {
        for (word, instead) in comment.within(line).into_iter().flat_map(docs::private) {
            faults.push(format!("{}:{} says '{word}'; say {instead}", file.path, nth + 1));
        }
    }
    faults
}

/// The comment markers of a kind of file.
#[derive(Clone, Copy)]
enum Comment {
    /// Rust's.
    Slashes,
    /// C's. The lines of a block comment begin with a star.
    Stars,
    /// The shell's and TOML's.
    Hash,
    /// In a table, people read everything.
    All,
}

impl Comment {
    fn of(path: &str) -> Option<Self> {
        let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
        match () {
            // An experiment's file must stay as it was before the first run.
            () if path.starts_with("fuzz/corpus/") || path.starts_with("experiments/") => None,
            () if ends(&[".rs"]) => Some(Self::Slashes),
            () if ends(&[".c", ".h"]) => Some(Self::Stars),
            () if path == "x" || ends(&[".sh", ".toml"]) => Some(Self::Hash),
            () if path.starts_with("tests/") && ends(&[".tsv"]) => Some(Self::All),
            () => None,
        }
    }

    /// The comment in a line, if any.
    fn within(self, line: &str) -> Option<&str> {
        let start = line.trim_start();
        match self {
            Self::Slashes => line.match_indices("//").map(|(at, _)| line.split_at(at)).find_map(outside_text),
            Self::Stars if start.starts_with('*') => Some(start),
            Self::Stars => line.find("/*").map(|at| &line[at..]),
            Self::Hash => start.starts_with('#').then_some(start),
            Self::All => Some(line),
        }
    }
}

/// The text after the first marker that is not inside a string.
fn outside_text<'a>((before, comment): (&'a str, &'a str)) -> Option<&'a str> {
    before.replace(r#"\""#, "").matches('"').count().is_multiple_of(2).then_some(comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(faults(&File { path: path.into(), text: text.into() }), expected);
    }

    #[test]
    fn comments_have_no_private_words() {
        check("a.rs", "\n/// It is cured.", &["a.rs:2 says 'cured'; say fixed"]);
        check("a.rs", "let a = 1; // It is cured.", &["a.rs:1 says 'cured'; say fixed"]);
        check("a.c", "/*\n * It is cured.\n */", &["a.c:2 says 'cured'; say fixed"]);
        check("a.h", "\tint a; /* It is cured. */", &["a.h:1 says 'cured'; say fixed"]);
        check("x", "  # It is cured.", &["x:1 says 'cured'; say fixed"]);
        check("tests/a.tsv", "a\tcured", &["tests/a.tsv:1 says 'cured'; say fixed"]);
    }

    #[test]
    fn code_text_and_names_in_backticks_are_left_alone() {
        check("a.rs", "let cured = 1;\n// `cured` is a field.", &[]);
        check("a.rs", "let link = \"https://cured\";", &[]);
        check("a.c", "int cured;", &[]);
        check("a.sh", "echo cured", &[]);
        check("a.json", "# cured", &[]);
        check("experiments/a.toml", "# cured", &[]);
    }
}
