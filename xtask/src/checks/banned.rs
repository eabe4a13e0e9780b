//! The crates that may not use wall clocks, threads, the environment, files or unordered maps. Clippy enforces the
//! list, and this check makes sure that clippy reads it.
//!
//! Clippy reads the nearest `clippy.toml` above a crate's manifest, so each of these crates contains a link to the one
//! list. Without the link, nobody would notice that the crate is not checked.

use super::all_or;
use crate::Failure;
use crate::tree::{files, root};

/// The crates, as in DESIGN.md.
const CRATES: &[&str] = &["kernel", "vm", "workload", "check"];

/// The list, in the root folder.
const LIST: &str = "clippy-deterministic.toml";

pub(super) fn run() -> Result<(), Failure> {
    let mut faults = unguarded()?;
    for file in files()?.iter().filter(|file| is_part_of_a_run(&file.path)) {
        if file.text.lines().any(lifts) {
            faults.push(format!("{} lifts a ban; only tests and build scripts may", file.path));
        }
    }
    all_or(faults)
}

/// Crates for which clippy would not read the list.
fn unguarded() -> Result<Vec<String>, Failure> {
    let list = std::fs::read(root().join(LIST)).map_err(|e| format!("{LIST} cannot be read: {e}"))?;
    let unseen = |name: &&&str| {
        let seen = std::fs::read(root().join("crates").join(name).join("clippy.toml"));
        !seen.is_ok_and(|seen| seen == list)
    };
    let fault = |name: &&str| format!("crates/{name}/clippy.toml is not a link to ../../{LIST}");
    Ok(CRATES.iter().filter(unseen).map(fault).collect())
}

/// Source files of these crates, without tests.
fn is_part_of_a_run(path: &str) -> bool {
    let of_crate = |name: &&str| path.starts_with(&format!("crates/{name}/src/"));
    CRATES.iter().any(of_crate) && !path.ends_with("tests.rs") && !path.contains("/tests/")
}

/// Whether the line is an attribute that allows what the list bans.
fn lifts(line: &str) -> bool {
    line.trim().starts_with('#') && line.contains("clippy::disallowed_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bans_hold_where_runs_are_made() {
        let check = |path, expected| assert_eq!(is_part_of_a_run(path), expected, "{path}");
        check("crates/kernel/src/run/main_loop.rs", true);
        check("crates/kernel/src/state/event/tests.rs", false);
        check("crates/kernel/build.rs", false);
        check("crates/cli/src/main.rs", false);
        assert!(lifts("    #[allow(clippy::disallowed_types)]"));
        assert!(!lifts("    // clippy::disallowed_types"));
    }
}
