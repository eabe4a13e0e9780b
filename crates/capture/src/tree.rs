//! Reads files of /sys and /proc. Each may be missing, unreadable in a container, or have any contents.

use keel_abi::CpuSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The maximum number of bytes read from a file.
const MOST: u64 = 1 << 20;

/// The root of /sys and /proc.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns a file's bytes.
    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.root.join(path)).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Returns a file's text, without surrounding white space.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes(path)?).trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    }

    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Returns a list of CPUs such as `0-3,8`.
    pub(crate) fn cpus(&self, path: &str) -> Option<CpuSet> {
        self.text(path)?.parse().ok().filter(|cpus: &CpuSet| !cpus.is_empty())
    }

    /// Returns the numbers after `prefix` in the names of a folder's entries, in order.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let Ok(entries) = std::fs::read_dir(self.root.join(folder)) else { return Vec::new() };
        let number = |name: &str| name.strip_prefix(prefix)?.parse().ok();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut numbers: Vec<u32> = names.filter_map(|name| number(&name)).collect();
        numbers.sort_unstable();
        numbers
    }
}
