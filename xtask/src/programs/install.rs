//! Installs a program from crates.io, once for each version.

use super::{FOLDER, Program};
use crate::Failure;
use crate::tree::root;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The compiler that the programs' build scripts call `clang`.
const CLANG: &str = "/usr/bin/clang-19";
/// The folder of its library.
const LIBCLANG: &str = "/usr/lib/llvm-19/lib";

/// The program's file. Builds it if it is missing.
pub(super) fn install(program: &Program) -> Result<PathBuf, Failure> {
    let folder = root().join(FOLDER);
    let own = folder.join(format!("{}-{}", program.name, program.version));
    let file = own.join("bin").join(&program.name);
    if file.is_file() {
        return Ok(file);
    }
    let path = compiler_path(&folder)?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Outside the workspace, whose settings do not apply to it.
    cargo.current_dir(&folder).stdin(Stdio::null());
    cargo.args(["install", "--locked", "--version", &program.version, "--root"]).arg(&own).arg(&program.name);
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).env("PATH", path);
    if std::env::var_os("LIBCLANG_PATH").is_none() && Path::new(LIBCLANG).exists() {
        cargo.env("LIBCLANG_PATH", LIBCLANG);
    }
    let status = cargo.status().map_err(|e| format!("cannot run cargo: {e}"))?;
    match status.success() && file.is_file() {
        true => Ok(file),
        false => Err(format!(
            "{} {} cannot be installed; see cargo's messages above",
            program.name, program.version
        )),
    }
}

/// A search path that contains a `clang`.
fn compiler_path(folder: &Path) -> Result<std::ffi::OsString, Failure> {
    let links = folder.join("path");
    let link = links.join("clang");
    let failed = |e: std::io::Error| format!("{}: {e}", link.display());
    std::fs::create_dir_all(&links).map_err(failed)?;
    if !link.exists() {
        let clang = std::env::var_os("CLANG").map_or_else(|| PathBuf::from(CLANG), PathBuf::from);
        std::os::unix::fs::symlink(clang, &link).map_err(failed)?;
    }
    let old = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(links).chain(std::env::split_paths(&old));
    std::env::join_paths(all).map_err(|e| format!("PATH: {e}"))
}
