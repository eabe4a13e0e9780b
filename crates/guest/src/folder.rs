//! The folder of a running guest. It is removed with its guest. If its creator was killed, the next guest removes it.

use crate::error::{GuestError, at};
use std::path::Path;
use tempfile::TempDir;

/// The prefix of folder names, before their creator's process id.
const PREFIX: &str = "keel-vm-";

/// Returns a folder of this process's own.
pub(crate) fn make() -> Result<TempDir, GuestError> {
    make_in(&std::env::temp_dir(), std::process::id())
}

fn make_in(place: &Path, id: u32) -> Result<TempDir, GuestError> {
    sweep(place);
    let prefix = format!("{PREFIX}{id}-");
    tempfile::Builder::new().prefix(&prefix).tempdir_in(place).map_err(at(place))
}

/// Removes folders whose creators have exited. Those that cannot be removed belong to another user.
fn sweep(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_str().and_then(maker).is_some_and(|id| !lives(id)) {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Returns the process id in a folder's name.
fn maker(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

fn lives(id: u32) -> bool {
    Path::new("/proc").join(id.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_ones_left_is_removed() {
        let place = tempfile::tempdir().unwrap();
        // Above every process id that Linux uses.
        let gone = (1 << 22) + 1;
        let left = make_in(place.path(), gone).unwrap().keep();
        std::fs::write(left.join("initramfs"), "").unwrap();
        let others = ["keel-vm-notes", "keel-vm-x-y"].map(|name| place.path().join(name));
        others.iter().for_each(|other| std::fs::create_dir(other).unwrap());
        let first = make_in(place.path(), std::process::id()).unwrap();
        let second = make_in(place.path(), std::process::id()).unwrap();
        assert!(!left.exists());
        assert!(first.path().exists() && second.path().exists(), "their maker lives");
        assert!(others.iter().all(|other| other.exists()), "nobody knows whose they are");
    }
}
