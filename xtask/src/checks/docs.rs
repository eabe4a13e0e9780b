//! Documents keep to 100 columns and plain words, and have no broken links. Every page of docs/ is in its table of
//! contents.
//!
//! Only lines of prose are measured. Code, tables and generated parts may be wider.

use super::all_or;
use crate::Failure;
use crate::tree::{File, files, root};
use std::collections::BTreeSet;

/// The maximum number of columns in a line of prose.
const COLUMNS: usize = 100;

/// The table of contents of docs/, in mdBook's format.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Words that nobody outside this project uses in these senses, and their replacements.
const PRIVATE: &[(&str, &str)] = &[
    ("a bug of ours", "an internal error"),
    ("beholder", "observer"),
    ("anew", "again"),
    ("as it were", "nothing"),
    ("astray", "invalid"),
    ("became of", "happened to"),
    ("becomes of", "happens to"),
    ("bids", "asks, tells"),
    ("cure", "fix"),
    ("cured", "fixed"),
    ("cures", "fixes"),
    ("farewell", "pending dequeue"),
    ("farewells", "pending dequeues"),
    ("hears of", "is notified of"),
    ("in charge of", "attached to"),
    ("in the hands of", "held by"),
    ("in a way that is not told", "in an unknown way"),
    ("is had", "costs"),
    ("is told", "is notified, is reported"),
    ("joining room", "lab crate"),
    ("lies in", "is in"),
    ("rarities", "slow path"),
    ("stray", "invalid"),
    ("strays", "invalid accesses"),
    ("stranger", "untrusted"),
    ("strangers", "untrusted input"),
    ("stranger's", "untrusted"),
    ("tells of", "reports"),
    ("the rooms", "the crates"),
    ("this room", "this crate"),
    ("told of", "notified of"),
    ("where nothing is", "an invalid address"),
    ("whom", "which task, which CPU"),
];

pub(super) fn run() -> Result<(), Failure> {
    let files = files()?;
    let documents: Vec<&File> = files.iter().filter(|file| file.path.ends_with(".md")).collect();
    let anchors: BTreeSet<String> = documents.iter().flat_map(|file| anchors(file)).collect();
    let leads = |to: &str| match to.contains('#') {
        true => anchors.contains(to),
        false => root().join(to).exists(),
    };
    let mut all: Vec<String> = documents.iter().flat_map(|file| faults(file, leads)).collect();
    all.extend(unlisted(&documents));
    all_or(all)
}

/// The pages of docs/ that its table of contents does not link to.
fn unlisted(documents: &[&File]) -> Vec<String> {
    let contents = documents.iter().find(|file| file.path == CONTENTS);
    let listed: BTreeSet<String> = contents
        .into_iter()
        .flat_map(|file| links(&file.text).into_iter().map(|link| target(CONTENTS, link)))
        .collect();
    let pages = documents.iter().map(|file| &file.path);
    let pages = pages.filter(|path| path.starts_with("docs/") && *path != CONTENTS);
    pages.filter(|path| !listed.contains(*path)).map(|path| format!("{path} is not in {CONTENTS}")).collect()
}

/// The faults of a document. `leads` returns whether a path from the root, with its anchor, exists.
fn faults(file: &File, leads: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in prose(&file.text) {
        let place = format!("{}:{number}", file.path);
        let columns = line.chars().count();
        if columns > COLUMNS && !line.starts_with('|') && line.trim().contains(' ') {
            faults.push(format!("{place} has {columns} columns; wrap it at {COLUMNS}"));
        }
        for (word, instead) in private(line) {
            faults.push(format!("{place} says '{word}'; say {instead}"));
        }
        for link in links(line) {
            if !leads(&target(&file.path, link)) {
                faults.push(format!("{place} links to {link}, which does not exist"));
            }
        }
    }
    faults
}

/// The lines that people write, with their numbers: without code and generated parts.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let (mut in_code, mut is_generated) = (false, false);
    let mut lines = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            in_code = !in_code;
        } else if trimmed.starts_with("<!-- generated") {
            is_generated = true;
        } else if trimmed.starts_with("<!-- end") {
            is_generated = false;
        } else if !in_code && !is_generated {
            lines.push((nth + 1, line));
        }
    }
    lines
}

/// The private words in a line, without code in backticks.
pub(super) fn private(line: &str) -> Vec<(&'static str, &'static str)> {
    let words: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let is_edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    let holds = |word: &str| {
        words.match_indices(word).any(|(at, found)| {
            is_edge(words[..at].chars().next_back()) && is_edge(words[at + found.len()..].chars().next())
        })
    };
    PRIVATE.iter().copied().filter(|(word, _)| holds(word)).collect()
}

/// The targets of a line's links, without links to other sites.
fn links(line: &str) -> Vec<&str> {
    let ends = |rest: &'_ str| rest.find([')', ' ']);
    let all = line.split("](").skip(1).filter_map(|rest| Some(&rest[..ends(rest)?]));
    all.filter(|link| !link.contains("://") && !link.is_empty()).collect()
}

/// A link as a path from the root.
fn target(document: &str, link: &str) -> String {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let mut parts: Vec<&str> = document.split('/').collect();
    if !path.is_empty() {
        parts.pop();
    }
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    anchor.map_or(path.clone(), |anchor| format!("{path}#{anchor}"))
}

/// The headings of a document, as links refer to them.
fn anchors(file: &File) -> Vec<String> {
    let headings = prose(&file.text).into_iter().filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| format!("{}#{}", file.path, slug(line.trim_start_matches('#').trim()))).collect()
}

/// A heading's anchor, by the rule of sites that render Markdown: lower-case letters, digits, `-` and `_`.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let file = File { path: "docs/a.md".into(), text: text.into() };
        let leads = |to: &str| ["docs/b.md", "docs/b.md#the-kinds", "README.md", "docs/a.md#a"].contains(&to);
        assert_eq!(faults(&file, leads), expected);
    }

    #[test]
    fn prose_is_wrapped_and_the_rest_is_left_alone() {
        let long = "word ".repeat(21);
        check(&long, &["docs/a.md:1 has 105 columns; wrap it at 100"]);
        check(&format!("| {long} |\n```\n{long}\n```\n<!-- generated: x -->\n{long}\n<!-- end -->"), &[]);
        check(&"x".repeat(200), &[]);
    }

    #[test]
    fn private_words_are_refused_where_they_are_words() {
        check("The bug is Cured.", &["docs/a.md:1 says 'cured'; say fixed"]);
        check("`cured` is a field, `a-cured.png` a file, obscured is a word", &[]);
    }

    #[test]
    fn every_page_is_in_the_contents() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let contents = file(CONTENTS, "- [One](how-to/one.md)\n- [Two](two.md#part)\n");
        let (one, two, three) =
            (file("docs/how-to/one.md", ""), file("docs/two.md", ""), file("docs/a/three.md", ""));
        let elsewhere = file("README.md", "");
        assert_eq!(unlisted(&[&contents, &one, &elsewhere]), [""; 0]);
        assert_eq!(
            unlisted(&[&contents, &one, &two, &three]),
            ["docs/two.md is not in docs/SUMMARY.md", "docs/a/three.md is not in docs/SUMMARY.md"]
        );
        assert_eq!(unlisted(&[&one]), ["docs/how-to/one.md is not in docs/SUMMARY.md"]);
    }

    #[test]
    fn links_lead_somewhere() {
        check("[b](b.md), [kinds](b.md#the-kinds), [up](../README.md), [here](#a), [site](https://x.y)", &[]);
        check("[c](c.md)", &["docs/a.md:1 links to c.md, which does not exist"]);
        check("[b](b.md#kinds)", &["docs/a.md:1 links to b.md#kinds, which does not exist"]);
        assert_eq!(slug("`--json` and the rest!"), "--json-and-the-rest");
    }
}
