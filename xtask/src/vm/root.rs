//! The guest's file system: busybox, bpftool with its libraries, the objects, one script.

use super::cpio::Archive;
use super::expected::Expected;
use super::guest;
use super::objects::BpfObject;
use crate::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The archive that the kernel unpacks and runs.
pub(super) fn build(
    tool: &Path,
    objects: &[BpfObject],
    expected: &Expected,
    seconds: u32,
) -> Result<Vec<u8>, Failure> {
    let mut archive = Archive::default();
    for folder in ["bin", "dev", "lib", "lib64", "obj", "proc", "sys", "tmp"] {
        archive.folder(folder);
    }
    let (busybox, bpftool) = (busybox()?, tool.join("usr/sbin/bpftool"));
    archive.program("bin/busybox", &read(&busybox)?);
    archive.link("bin/sh", "busybox");
    archive.program("bin/bpftool", &read(&bpftool)?);
    let mut needed = [libraries(&busybox)?, libraries(&bpftool)?].concat();
    needed.sort();
    needed.dedup();
    for library in needed {
        let name = library.file_name().and_then(|name| name.to_str()).expect("ldd prints names");
        let place = if name.starts_with("ld-linux") { "lib64" } else { "lib" };
        archive.program(&format!("{place}/{name}"), &read(&library)?);
    }
    for object in objects {
        archive.program(&format!("obj/{}.bpf.o", object.name), &object.bytes);
    }
    archive.program("init", guest::script(objects, expected, seconds).as_bytes());
    Ok(archive.finish())
}

fn busybox() -> Result<PathBuf, Failure> {
    let places = ["/bin/busybox", "/usr/bin/busybox"];
    let found = places.iter().map(PathBuf::from).find(|path| path.exists());
    found.ok_or_else(|| "there is no busybox for the guest; install busybox-static".to_owned())
}

/// The shared libraries of a program, the loader included; none of one that is linked statically.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, Failure> {
    let output = Command::new("ldd").arg(program).env("LC_ALL", "C").output();
    let output = output.map_err(|e| format!("ldd cannot be run: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(line) = text.lines().find(|line| line.contains("not found")) {
        return Err(format!("{} needs a library that is not installed: {}", program.display(), line.trim()));
    }
    let paths = text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    Ok(paths.map(PathBuf::from).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}
