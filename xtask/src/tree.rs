//! The checkout: its path, and its own files.

use crate::Failure;
use std::path::PathBuf;
use std::process::Command;

/// The workspace's root. Cargo passes xtask's folder at run time, so checkouts that share a target folder, and perhaps
/// this very program, are not mixed up.
pub(crate) fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| "xtask".into(), PathBuf::from);
    match package.parent() {
        Some(root) if root.is_absolute() => root.to_path_buf(),
        _ => std::env::current_dir().expect("the current folder exists"),
    }
}

/// A file of the project and its text.
pub(crate) struct File {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// Its contents.
    pub(crate) text: String,
}

/// Every text file that git tracks or would add, by path.
pub(crate) fn files() -> Result<Vec<File>, Failure> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run git ({e}); install it"))?;
    if !listed.status.success() {
        return Err(format!("git cannot list the files: {}", String::from_utf8_lossy(&listed.stderr).trim()));
    }
    let mut paths: Vec<String> =
        String::from_utf8_lossy(&listed.stdout).split_terminator('\0').map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths.into_iter().filter_map(read).collect())
}

/// The file if it is text. A deleted file that is not yet committed is left out too.
fn read(path: String) -> Option<File> {
    let full: PathBuf = root().join(&path);
    if full.is_symlink() {
        return None;
    }
    let text = String::from_utf8(std::fs::read(full).ok()?).ok()?;
    (!text.contains('\0')).then_some(File { path, text })
}
