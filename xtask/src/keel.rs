//! Runs keel from a release build, in the root folder, with stdin closed.

use crate::tree::root;
use crate::{Failure, cargo};
use serde_json::Value;
use std::process::{Command, Stdio};

/// A command that runs keel with these arguments.
pub(crate) fn command(args: &[&str]) -> Result<Command, Failure> {
    let mut command = Command::new(cargo::built("keel")?);
    command.args(args).current_dir(root()).stdin(Stdio::null());
    Ok(command)
}

/// Runs keel with these arguments and `--json`, and returns its output, whatever its exit code. Its messages go to
/// `stderr`.
pub(crate) fn json(args: &[&str], stderr: Stdio) -> Result<Value, Failure> {
    printed(command(args)?.stderr(stderr), args)
}

/// Runs this command, which already has its arguments, with `--json`, and returns its output. An error contains keel's
/// messages, unless the command redirects them.
pub(crate) fn printed(command: &mut Command, args: &[&str]) -> Result<Value, Failure> {
    let output = command.arg("--json").output().map_err(|e| format!("cannot run keel: {e}"))?;
    serde_json::from_slice(&output.stdout).map_err(|e| {
        let said = String::from_utf8_lossy(&output.stderr);
        let gap = if said.is_empty() { "" } else { ": " };
        format!("keel {} printed no JSON: {e}{gap}{}", args.join(" "), said.trim_end())
    })
}
