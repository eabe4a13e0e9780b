//! A script of `tests/live` in guests, until each of its turns was taken.

use super::seen::Seen;
use super::{OUT, TESTS};
use crate::tree::root;
use crate::{Failure, cargo};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A script to be run on a kernel.
pub(super) struct Script<'a> {
    /// As `keel vm --kernel` has it.
    pub(super) kernel: &'a str,
    /// The script's name in `tests/live`.
    pub(super) name: &'a str,
    /// Its first argument.
    pub(super) first: Option<String>,
    /// How long a turn may take, by the host's clock.
    pub(super) turn: Duration,
}

/// How long a guest may take to come up.
const BOOT: Duration = Duration::from_secs(120);

impl Script<'_> {
    /// Takes the turns, all in one guest; where it ends at one of them, the rest in another. Gives what was seen at each.
    pub(super) fn run(&self, turns: &[String]) -> Result<Vec<Seen>, Failure> {
        let out = format!("{OUT}/{}/{}", self.kernel, self.name.trim_end_matches(".sh"));
        let folder = root().join(&out);
        // What an earlier run left is nothing that is seen now.
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).map_err(|e| format!("{out}: {e}"))?;
        let (mut seen, mut left) = (Vec::new(), turns);
        while let Some((first, _)) = left.split_first() {
            let words = self.boot(&out, left)?;
            let done = left.iter().map(|turn| Seen::read(&folder, turn)).take_while(|seen| seen.is_done());
            let before = seen.len();
            seen.extend(done);
            left = &left[seen.len() - before..];
            if let Some(at) = left.first() {
                if at == first && !folder.join("turn").exists() {
                    return Err(format!("no guest with Linux {} comes up: {words}", self.kernel));
                }
                seen.push(Seen { guest_ended: Some(words), ..Seen::read(&folder, at) });
                left = &left[1..];
            }
        }
        Ok(seen)
    }

    /// One guest; gives its last words.
    fn boot(&self, out: &str, turns: &[String]) -> Result<String, Failure> {
        let keel = cargo::built("keel")?;
        let limit = BOOT + self.turn * turns.len() as u32;
        let output = Command::new(&keel)
            .args(["vm", "--kernel", self.kernel, "--cpus", "8", "--numa", "2"])
            .args(["--timeout", &format!("{}s", limit.as_secs())])
            .args(["--", "sh", &format!("{TESTS}/{}", self.name)])
            .args([keel.as_path(), Path::new(out)])
            .args(self.first.iter().chain(turns))
            .current_dir(root())
            .output()
            .map_err(|e| format!("keel cannot be run: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let log: PathBuf = root().join(out).join("guest.log");
        super::write(&log, &[output.stdout.as_slice(), said.as_bytes()].concat())?;
        Ok(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said").to_owned())
    }
}
