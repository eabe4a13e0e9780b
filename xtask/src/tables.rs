//! `./x matrix` and `./x sensitivity` update the long tables of docs/ that `keel lab` prints.

use crate::{Failure, cargo, document};
use std::process::{Command, Stdio};

/// A table and its page.
pub(crate) struct Table {
    /// The command's name. It marks the place in the page, and is an option of `keel lab`.
    name: &'static str,
    page: &'static str,
}

/// Every scheduler on every experiment.
pub(crate) const MATRIX: Table = Table { name: "matrix", page: "docs/explanation/experiments-matrix.md" };
/// Each machine constant halved and doubled.
pub(crate) const SENSITIVITY: Table = Table { name: "sensitivity", page: "docs/explanation/sensitivity.md" };

impl Table {
    /// Builds `keel` in release mode, lets it print the table, and puts the table into the page. `extra` is passed to
    /// `keel lab`.
    pub(crate) fn renew(&self, extra: &[String]) -> Result<(), Failure> {
        cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
        let keel = cargo::built("keel")?;
        let mut command = Command::new(&keel);
        command.arg("lab").arg(format!("--{}", self.name)).args(extra);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.map_err(|e| format!("cannot run {}: {e}", keel.display()))?;
        if !output.status.success() {
            return Err(format!("keel lab --{} ended with {}", self.name, output.status));
        }
        let printed = String::from_utf8(output.stdout).map_err(|e| format!("keel printed no text: {e}"))?;
        document::renew(self.page, self.name, &format!("```\n{printed}```\n"))
    }
}
