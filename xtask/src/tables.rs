//! `./x matrix`, `./x sensitivity`: the long tables of docs/ that `keel lab` prints, made anew.

use crate::tree::root;
use crate::{Failure, cargo};
use std::process::{Command, Stdio};

const END: &str = "```\n<!-- end -->\n";

/// A table, and where it stands.
pub(crate) struct Table {
    /// The command's name, after which the place in the page is named; `keel lab` takes it as an option.
    name: &'static str,
    page: &'static str,
}

/// Every scheduler on every experiment.
pub(crate) const MATRIX: Table = Table { name: "matrix", page: "docs/experiments.md" };
/// Each machine constant halved and doubled.
pub(crate) const SENSITIVITY: Table = Table { name: "sensitivity", page: "docs/sensitivity.md" };

impl Table {
    /// Builds `keel` for speed, lets it print the table and puts it into the page; `extra` goes to `keel lab`.
    pub(crate) fn renew(&self, extra: &[String]) -> Result<(), Failure> {
        cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
        let keel = cargo::built("keel")?;
        let mut command = Command::new(&keel);
        command.arg("lab").arg(format!("--{}", self.name)).args(extra);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.map_err(|e| format!("{} cannot be run: {e}", keel.display()))?;
        if !output.status.success() {
            return Err(format!("keel lab --{} ended with {}", self.name, output.status));
        }
        let printed = String::from_utf8(output.stdout).map_err(|e| format!("keel printed no text: {e}"))?;
        let page = root().join(self.page);
        let text = std::fs::read_to_string(&page).map_err(|e| format!("{}: {e}", self.page))?;
        let text = self
            .placed(&text, &printed)
            .ok_or_else(|| format!("{} has no place for the table: {}", self.page, self.begin()))?;
        std::fs::write(&page, text).map_err(|e| format!("{}: {e}", self.page))
    }

    fn begin(&self) -> String {
        format!("<!-- ./x {} -->\n```\n", self.name)
    }

    /// The page with what was printed in its place.
    fn placed(&self, page: &str, printed: &str) -> Option<String> {
        let begin = self.begin();
        let (before, rest) = page.split_once(&begin)?;
        let (_, after) = rest.split_once(END)?;
        Some(format!("{before}{begin}{printed}{END}{after}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{END, MATRIX, SENSITIVITY, root};

    #[test]
    fn what_was_printed_replaces_what_was_there() {
        let begin = MATRIX.begin();
        let page = format!("before\n{begin}old\n{END}after\n");
        assert_eq!(MATRIX.placed(&page, "new\n"), Some(format!("before\n{begin}new\n{END}after\n")));
        assert_eq!(MATRIX.placed("no place", "new"), None);
    }

    #[test]
    fn the_pages_have_their_places() {
        for table in [MATRIX, SENSITIVITY] {
            let page = std::fs::read_to_string(root().join(table.page)).expect("the page is there");
            assert!(table.placed(&page, "x\n").is_some(), "{}", table.page);
        }
    }
}
