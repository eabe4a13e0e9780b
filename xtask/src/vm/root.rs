//! The guest's file system: busybox, bpftool and the project's `bpf_cases` with their libraries, the objects, and one
//! script.

use super::Stop;
use super::expected::Expected;
use super::guest;
use super::objects::BpfObject;
use keel_guest::{Archive, add_busybox, add_libraries, libraries};
use std::path::Path;

/// The archive that the kernel unpacks and runs.
pub(super) fn build(
    tool: &Path,
    cases: &Path,
    objects: &[BpfObject],
    expected: &Expected,
    seconds: u32,
) -> Result<Vec<u8>, Stop> {
    let mut archive = Archive::default();
    for folder in ["bin", "dev", "lib", "lib64", "obj", "obj/bpf", "proc", "sys", "tmp"] {
        archive.folder(folder);
    }
    add_busybox(&mut archive, &["sh"])?;
    let bpftool = tool.join("usr/sbin/bpftool");
    archive.program("bin/bpftool", &read(&bpftool)?);
    archive.program("bin/bpf_cases", &read(cases)?);
    let mut needed = libraries(&bpftool)?;
    needed.extend(libraries(cases)?);
    needed.sort();
    needed.dedup();
    add_libraries(&mut archive, &needed)?;
    for object in objects {
        archive.program(&format!("obj/{}.bpf.o", object.name), &object.bytes);
    }
    archive.program("init", guest::script(objects, expected, seconds).as_bytes());
    Ok(archive.finish())
}

fn read(path: &Path) -> Result<Vec<u8>, Stop> {
    std::fs::read(path).map_err(|e| Stop::Failed(format!("{}: {e}", path.display())))
}
