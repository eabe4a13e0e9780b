//! Counts instructions with valgrind's callgrind. Other programs on the host do not affect the count.

use super::driver::{self, Case, Facts};
use super::profile::Counts;
use crate::Failure;
use crate::tree::root;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether instructions can be counted on this host.
pub(super) fn is_there() -> bool {
    let probe =
        Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

/// Runs a case under callgrind.
pub(super) fn run(rate: &Path, case: &Case) -> Result<Counts, Failure> {
    let args = case.args();
    let (said, written) = written(rate, &args.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok(Counts::parse(&written, Facts::parse(&said)?.events()?))
}

/// Runs a program under callgrind. Returns its output and callgrind's.
pub(super) fn written(program: &Path, args: &[&str]) -> Result<(Vec<u8>, String), Failure> {
    let folder = root().join("out");
    std::fs::create_dir_all(&folder).map_err(|e| format!("out/ cannot be created: {e}"))?;
    let file = folder.join(format!("callgrind.{}", std::process::id()));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", "--dump-line=no", "--compress-pos=no"]);
    command.arg(format!("--callgrind-out-file={}", file.display())).arg(program).args(args);
    let said = driver::said(&mut command);
    let written = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    let written = written.map_err(|e| format!("cannot read callgrind's output: {e}"));
    Ok((said?, written?))
}
