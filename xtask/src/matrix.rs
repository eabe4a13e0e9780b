//! `./x matrix`: the tables of 'Every scheduler on every experiment' in docs/experiments.md, made anew.

use crate::tree::root;
use crate::{Failure, cargo};
use std::process::{Command, Stdio};

const PAGE: &str = "docs/experiments.md";
const BEGIN: &str = "<!-- ./x matrix -->\n```\n";
const END: &str = "```\n<!-- end -->\n";

/// Builds `keel` for speed, runs the matrix and puts what it prints into the page; `extra` goes to `keel lab`.
pub(crate) fn run(extra: &[String]) -> Result<(), Failure> {
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    let keel = cargo::built("keel")?;
    let mut command = Command::new(&keel);
    command.args(["lab", "--matrix"]).args(extra).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|e| format!("{} cannot be run: {e}", keel.display()))?;
    if !output.status.success() {
        return Err(format!("keel lab --matrix ended with {}", output.status));
    }
    let printed = String::from_utf8(output.stdout).map_err(|e| format!("keel printed no text: {e}"))?;
    let page = root().join(PAGE);
    let text = std::fs::read_to_string(&page).map_err(|e| format!("{PAGE}: {e}"))?;
    let text =
        placed(&text, &printed).ok_or_else(|| format!("{PAGE} has no place for the tables: {BEGIN}"))?;
    std::fs::write(&page, text).map_err(|e| format!("{PAGE}: {e}"))
}

/// The page with what was printed in its place.
fn placed(page: &str, printed: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{printed}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, placed};

    #[test]
    fn what_was_printed_replaces_what_was_there() {
        let page = format!("before\n{BEGIN}old\n{END}after\n");
        assert_eq!(placed(&page, "new\n"), Some(format!("before\n{BEGIN}new\n{END}after\n")));
        assert_eq!(placed("no place", "new"), None);
        let real = include_str!("../../docs/experiments.md");
        assert!(placed(real, "x\n").is_some(), "the page has its place");
    }
}
