//! Running the keel of a release build from the root, without stdin.

use crate::tree::root;
use crate::{Failure, cargo};
use serde_json::Value;
use std::process::{Command, Stdio};

/// keel with these arguments.
pub(crate) fn command(args: &[&str]) -> Result<Command, Failure> {
    let mut command = Command::new(cargo::built("keel")?);
    command.args(args).current_dir(root()).stdin(Stdio::null());
    Ok(command)
}

/// What keel prints with these arguments and `--json`, however it ends; its messages go to `stderr`.
pub(crate) fn json(args: &[&str], stderr: Stdio) -> Result<Value, Failure> {
    printed(command(args)?.stderr(stderr), args)
}

/// What keel prints with `--json` as this command, which has these arguments. Its messages are part of the failure, unless the
/// command sends them elsewhere.
pub(crate) fn printed(command: &mut Command, args: &[&str]) -> Result<Value, Failure> {
    let output = command.arg("--json").output().map_err(|e| format!("keel cannot be run: {e}"))?;
    serde_json::from_slice(&output.stdout).map_err(|e| {
        let said = String::from_utf8_lossy(&output.stderr);
        let gap = if said.is_empty() { "" } else { ": " };
        format!("keel {} printed no JSON: {e}{gap}{}", args.join(" "), said.trim_end())
    })
}
