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
    let output = command(args)?.arg("--json").stderr(stderr).output();
    let output = output.map_err(|e| format!("keel cannot be run: {e}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("keel {} printed no JSON: {e}", args.join(" ")))
}
