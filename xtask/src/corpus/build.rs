//! Compiles every `*.bpf.c` of the sources, as the kernel's own Makefiles do.

use super::source::Tree;
use crate::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of sources, relative to the kernel's.
const FOLDERS: &[&str] = &["tools/sched_ext", "tools/testing/selftests/sched_ext"];

/// Objects that set neighbouring fields in an arena to 0. clang 19 makes one `memset()` of these and drops the cast of
/// the address, so verifiers reject the object.
const BY_FIELD: &[&str] = &["scx_qmap"];

/// An object, or the error that prevented it.
pub(super) struct Built {
    /// The source's name without `.bpf.c`.
    pub(super) name: String,
    pub(super) path: Result<PathBuf, String>,
}

/// Compiles the objects that are missing.
pub(super) fn all(tree: &Tree) -> Result<Vec<Built>, Failure> {
    let objects = tree.headers.with_file_name("objects");
    std::fs::create_dir_all(&objects).map_err(|e| format!("{}: {e}", objects.display()))?;
    let mut all = Vec::new();
    for folder in FOLDERS {
        let folder = tree.kernel.join(folder);
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter_map(|n| n.strip_suffix(".bpf.c").map(str::to_owned)).collect();
        names.sort();
        for name in names {
            let path = one(tree, &folder, &name, &objects)?;
            all.push(Built { name, path });
        }
    }
    Ok(all)
}

fn one(tree: &Tree, folder: &Path, name: &str, objects: &Path) -> Result<Result<PathBuf, String>, Failure> {
    let (part, object) = (objects.join(format!(".{name}")), objects.join(format!("{name}.bpf.o")));
    if object.exists() {
        return Ok(Ok(object));
    }
    let mut clang = clang();
    // The working directory is the kernel's folder, so that messages contain no path of this machine.
    clang.current_dir(&tree.kernel);
    let tools = ["tools/sched_ext/include", "tools/sched_ext/include/bpf-compat"];
    let here = folder.strip_prefix(&tree.kernel).unwrap_or(folder);
    for include in tools.map(PathBuf::from).into_iter().chain([here.join("include"), tree.headers.clone()]) {
        clang.arg("-I").arg(include);
    }
    clang.args(["-I", "tools/include/uapi", "-I", "tools/include"]);
    if BY_FIELD.contains(&name) {
        clang.arg("-fno-builtin");
    }
    clang.arg("-c").arg(here.join(format!("{name}.bpf.c"))).arg("-o").arg(&part);
    let output = clang.output().map_err(|e| format!("cannot run clang: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().find(|line| line.contains("error:")).unwrap_or("no reason was given");
        return Ok(Err(format!("clang refuses it: {first}")));
    }
    std::fs::rename(&part, &object).map_err(|e| format!("{}: {e}", object.display()))?;
    Ok(Ok(object))
}

fn clang() -> Command {
    let name = std::env::var_os(keel_bpfc::CLANG).filter(|name| !name.is_empty());
    let mut clang = Command::new(name.unwrap_or_else(|| "clang-19".into()));
    clang.args(["-g", "-O2", "-mcpu=v3", "-target", "bpf", "-mlittle-endian", "-D__TARGET_ARCH_x86"]);
    // A kernel's types contain anonymous members that only Microsoft's C allows. They are not the project's to fix.
    clang.args(["-fms-extensions", "-w", "-Wno-incompatible-function-pointer-types"]);
    clang
}
