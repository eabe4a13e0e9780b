//! A script of several turns in guests, until each of them was taken.

use super::seen::Seen;
use crate::tree::root;
use crate::{Failure, cargo};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A script to be run on a kernel.
pub(crate) struct Script<'a> {
    /// As `keel vm --kernel` has it.
    pub(crate) kernel: &'a str,
    /// The guest, as other arguments of `keel vm` have it.
    pub(crate) guest: &'a [&'a str],
    /// The script, from the root.
    pub(crate) script: &'a str,
    /// The folder that it writes to, from the root. What it holds goes first.
    pub(crate) out: String,
    /// Its first argument after these, before the turns.
    pub(crate) first: Option<String>,
    /// How long a turn may take, by the host's clock.
    pub(crate) turn: Duration,
}

/// 8 CPUs on 2 nodes.
pub(crate) const EIGHT_CPUS: &[&str] = &["--cpus", "8", "--numa", "2"];

/// How long a guest may take to come up.
const BOOT: Duration = Duration::from_secs(120);

impl Script<'_> {
    /// Takes the turns, all in one guest; where it ends at one of them, the rest in another. Gives what was seen at each.
    pub(crate) fn run(&self, turns: &[String]) -> Result<Vec<Seen>, Failure> {
        self.run_with(&cargo::built("keel")?, turns)
    }

    /// The same with another keel, which boots the guests, too.
    pub(crate) fn run_with(&self, keel: &Path, turns: &[String]) -> Result<Vec<Seen>, Failure> {
        let out = &self.out;
        let folder = root().join(out);
        // What an earlier run left is nothing that is seen now.
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

    /// One guest; gives its last words.
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
            .map_err(|e| format!("keel cannot be run: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let log: PathBuf = root().join(&self.out).join("guest.log");
        super::write(&log, &[output.stdout.as_slice(), said.as_bytes()].concat())?;
        Ok(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").to_owned())
    }
}
