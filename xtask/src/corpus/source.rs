//! Fetches the kernel's sources from Debian's packages, and what you need to compile them, all below `.cache/corpus`.
//! Each part is made in a temporary folder or file and renamed when it is complete.

use super::FOLDER;
use crate::Failure;
use crate::tree::root;
use keel_guest::{DEFAULT, Flavour, GuestError, Store};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian's archives of kernel sources, those of the best-known images first.
const SUITES: &[&str] = &["sid", "trixie-backports"];

/// The files to unpack from the package, below the source's own folder.
const PARTS: &[&str] = &[
    "tools/sched_ext",
    "tools/testing/selftests/sched_ext",
    "tools/include",
    "tools/lib/bpf",
    "scripts/bpf_doc.py",
];

/// Sources that are ready to compile.
pub(super) struct Tree {
    /// The unpacked part of the kernel's source.
    pub(super) kernel: PathBuf,
    /// `vmlinux.h`, and libbpf's headers in `bpf/`.
    pub(super) headers: PathBuf,
}

/// Fetches what is missing: the source of the simulated series, and the types of the same kernel.
pub(super) fn fetch() -> Result<Tree, Failure> {
    let folder = root().join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let store = Store::open(&root().join(".cache/vm")).map_err(|e| e.to_string())?;
    let kernel = folder.join(format!("linux-source-{DEFAULT}"));
    if !kernel.exists() {
        unpack(&store, &folder)?;
    }
    let headers = folder.join("headers");
    if !headers.exists() {
        let part = folder.join(".headers");
        std::fs::remove_dir_all(&part).ok();
        std::fs::create_dir_all(part.join("bpf")).map_err(|e| format!("{}: {e}", part.display()))?;
        libbpf(&kernel, &part.join("bpf"))?;
        types(&store, &part)?;
        rename(&part, &headers)?;
    }
    Ok(Tree { kernel, headers })
}

fn say(text: &str) {
    println!("{text}");
}

fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::rename(from, to).map_err(|e| format!("{}: {e}", to.display()))
}

fn unpack(store: &Store, folder: &Path) -> Result<(), Failure> {
    let name = format!("linux-source-{DEFAULT}");
    let mut package = Err(GuestError::Unavailable(format!("Debian has no {name}")));
    for suite in SUITES {
        package = store.tool(suite, &name, &say);
        if package.is_ok() {
            break;
        }
    }
    let archive = package.map_err(|e| e.to_string())?.join(format!("usr/src/{name}.tar.xz"));
    let part = tempfile::tempdir_in(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    say("unpacking the kernel's schedulers and selftests");
    let members = PARTS.iter().map(|part| format!("{name}/{part}"));
    let mut tar = Command::new("tar");
    done(tar.arg("-xf").arg(&archive).arg("-C").arg(part.path()).args(members))?;
    rename(&part.path().join(&name), &folder.join(&name))
}

/// libbpf's headers. The kernel's own script generates those of its helpers.
fn libbpf(kernel: &Path, into: &Path) -> Result<(), Failure> {
    let from = kernel.join("tools/lib/bpf");
    let entries = std::fs::read_dir(&from).map_err(|e| format!("{}: {e}", from.display()))?;
    for entry in entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "h")) {
        let to = into.join(entry.file_name());
        std::fs::copy(entry.path(), &to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    let mut script = Command::new("python3");
    script.arg(kernel.join("scripts/bpf_doc.py")).args(["--header", "--file"]);
    let made = done(script.arg(kernel.join("tools/include/uapi/linux/bpf.h")))?;
    write(&into.join("bpf_helper_defs.h"), &made)
}

/// The kernel's types as C.
fn types(store: &Store, into: &Path) -> Result<(), Failure> {
    let kernel = store.kernel(DEFAULT, Flavour::Cloud, &say).map_err(|e| e.to_string())?;
    let tool = store.tool("bookworm-backports", "bpftool", &say).map_err(|e| e.to_string())?;
    say(&format!("reading the types of Linux {}", kernel.release));
    let vmlinux = into.join("vmlinux");
    keel_guest::uncompress(&kernel.vmlinuz(), &vmlinux).map_err(|e| e.to_string())?;
    let mut dump = Command::new(tool.join("usr/sbin/bpftool"));
    let text = done(dump.args(["btf", "dump", "file"]).arg(&vmlinux).args(["format", "c"]))?;
    write(&into.join("vmlinux.h"), &text)?;
    std::fs::remove_file(&vmlinux).map_err(|e| format!("{}: {e}", vmlinux.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// The command's output.
fn done(command: &mut Command) -> Result<Vec<u8>, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("cannot run {name}: {e}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
