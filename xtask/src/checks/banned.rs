//! The rooms without wall clock, threads, environment, files and unordered maps: clippy enforces
//! the list, and this check that clippy sees it.
//!
//! Clippy reads the nearest `clippy.toml` above a crate's manifest, so each of these rooms holds
//! a link to the one list; without it the room would be unguarded and nobody would notice.

use super::all_or;
use crate::Failure;
use crate::tree::root;

/// The rooms, as DESIGN.md has them.
const ROOMS: &[&str] = &["kernel", "vm", "workload", "check"];

/// The one list, from the root.
const LIST: &str = "clippy-deterministic.toml";

pub(super) fn run() -> Result<(), Failure> {
    let list = std::fs::read(root().join(LIST)).map_err(|e| format!("{LIST} cannot be read: {e}"))?;
    let guarded = |room: &&&str| {
        let seen = std::fs::read(root().join("crates").join(room).join("clippy.toml"));
        !seen.is_ok_and(|seen| seen == list)
    };
    let fault = |room: &&str| format!("crates/{room}/clippy.toml is no link to ../../{LIST}");
    all_or(ROOMS.iter().filter(guarded).map(fault).collect())
}
