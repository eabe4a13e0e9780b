//! Runs a script with several turns in guests, until each turn is done.

use super::seen::Seen;
use crate::tree::root;
use crate::{Failure, cargo};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A script to run on a kernel.
pub(crate) struct Script<'a> {
    /// The kernel, as in `keel vm --kernel`.
    pub(crate) kernel: &'a str,
    /// The guest, as other arguments of `keel vm`.
    pub(crate) guest: &'a [&'a str],
    /// The script's path from the root.
    pub(crate) script: &'a str,
    /// The folder that it writes to, from the root. Its contents are deleted first.
    pub(crate) out: String,
    /// The first argument after the folder, before the turns.
    pub(crate) first: Option<String>,
    /// The time limit of a turn, in wall time.
    pub(crate) turn: Duration,
}

/// 8 CPUs on 2 nodes.
pub(crate) const EIGHT_CPUS: &[&str] = &["--cpus", "8", "--numa", "2"];

/// The time limit of a guest's boot.
const BOOT: Duration = Duration::from_secs(120);

impl Script<'_> {
    /// Runs the turns, all in one guest. If the guest ends during a turn, the remaining turns run in another. Returns
    /// the output of each.
    pub(crate) fn run(&self, turns: &[String]) -> Result<Vec<Seen>, Failure> {
        self.run_with(&cargo::built("keel")?, turns)
    }

    /// The same with another keel, which also boots the guests.
    pub(crate) fn run_with(&self, keel: &Path, turns: &[String]) -> Result<Vec<Seen>, Failure> {
        let out = &self.out;
        let folder = root().join(out);
        // Results of an earlier run must not count.
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).map_err(|e| format!("{out}: {e}"))?;
        let (mut seen, mut left) = (Vec::new(), turns);
        while let Some((first, _)) = left.split_first() {
            let words = self.boot(keel, left)?;
            let done = left.iter().map(|turn| Seen::read(&folder, turn)).take_while(|seen| seen.is_done());
            let before = seen.len();
            seen.extend(done);
            left = &left[seen.len() - before..];
            if let Some(at) = left.first() {
                if at == first && !folder.join("turn").exists() {
                    return Err(format!("no guest with Linux {} boots: {words}", self.kernel));
                }
                seen.push(Seen { guest_ended: Some(words), ..Seen::read(&folder, at) });
                left = &left[1..];
            }
        }
        Ok(seen)
    }

    /// One guest. Returns its last message.
    fn boot(&self, keel: &Path, turns: &[String]) -> Result<String, Failure> {
        let limit = BOOT + self.turn * turns.len() as u32;
        let output = Command::new(keel)
            .args(["vm", "--kernel", self.kernel])
            .args(self.guest)
            .args(["--timeout", &format!("{}s", limit.as_secs())])
            .args(["--", "sh", self.script])
            .args([keel, Path::new(&self.out)])
            .args(self.first.iter().chain(turns))
            .current_dir(root())
            .output()
            .map_err(|e| format!("cannot run keel: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let log: PathBuf = root().join(&self.out).join("guest.log");
        super::write(&log, &[output.stdout.as_slice(), said.as_bytes()].concat())?;
        Ok(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").to_owned())
    }
}
