//! Programs on the host that are used to make a guest.

use crate::error::{GuestError, why};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the host's busybox, which provides a guest's first commands.
///
/// # Errors
/// [`GuestError::Missing`] if there is no busybox.
pub fn busybox() -> Result<PathBuf, GuestError> {
    let places = ["/bin/busybox", "/usr/bin/busybox", "/usr/sbin/busybox"];
    let found = places.iter().map(PathBuf::from).find(|path| path.exists());
    found.ok_or_else(|| GuestError::Missing("the guest needs busybox; install busybox-static".to_owned()))
}

/// Returns the shared libraries of a program, including the loader. Empty for a statically linked program.
///
/// # Errors
/// [`GuestError::Missing`] if a library is not installed, or `ldd` is missing.
pub fn libraries(program: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let output = Command::new("ldd").arg(program).env("LC_ALL", "C").output();
    let output = output.map_err(|e| GuestError::Missing(format!("ldd cannot be run: {}", why(&e))))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(line) = text.lines().find(|line| line.contains("not found")) {
        let (program, line) = (program.display(), line.trim());
        return Err(GuestError::Missing(format!("{program} needs a library that is not installed: {line}")));
    }
    let paths = text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    Ok(paths.map(PathBuf::from).collect())
}

/// Returns the contents of an xz file.
pub(crate) fn unxz(path: &Path) -> Result<Vec<u8>, GuestError> {
    let output = Command::new(busybox()?).arg("xzcat").arg(path).output();
    let output = output.map_err(|e| GuestError::Missing(format!("busybox cannot be run: {}", why(&e))))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(GuestError::Input(format!("{}: this is not an xz file", path.display()))),
    }
}
