//! The objects to check, compiled as users get them.

use crate::Failure;
use crate::tree::root;
use keel_bpfc::Compiler;
use std::path::Path;

/// An object, compiled.
pub(super) struct BpfObject {
    /// Its name, which is its scheduler's; with a setting, `name+setting`.
    pub(super) name: String,
    /// What a loader is given.
    pub(super) bytes: Vec<u8>,
}

/// Settings that make an object run other code. A verifier never looks at what the settings of the
/// object at hand leave out.
const SETTINGS: &[(&str, &str, u64)] = &[("fifo", "fifo", 1), ("wasteful", "follow_waker", 0)];

/// The schedulers and, unless `only_schedulers`, the objects that are wrong on purpose.
pub(super) fn compile(only_schedulers: bool) -> Result<Vec<BpfObject>, Failure> {
    let compiler = Compiler::new(root()).include("schedulers/include").include("crates/kernel/btf");
    let mut objects = Vec::new();
    let folders: &[&str] = if only_schedulers { &["schedulers"] } else { &["schedulers", "tests/objects"] };
    for folder in folders {
        for name in names(folder)? {
            let source = format!("{folder}/{name}.bpf.c");
            let bytes = compiler.compile(&source).map_err(|e| e.to_string())?;
            for (_, setting, value) in SETTINGS.iter().filter(|(object, ..)| *object == name) {
                let mut bytes = bytes.clone();
                keel_bpfc::set(&mut bytes, setting, *value).map_err(|e| format!("{source}: {e}"))?;
                objects.push(BpfObject { name: format!("{name}+{setting}"), bytes });
            }
            objects.push(BpfObject { name, bytes });
        }
    }
    Ok(objects)
}

impl BpfObject {
    /// The name that it attaches under.
    pub(super) fn scheduler(&self) -> &str {
        self.name.split('+').next().unwrap_or(&self.name)
    }
}

fn names(folder: &str) -> Result<Vec<String>, Failure> {
    let path = root().join(folder);
    let entries = std::fs::read_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let name = |path: &Path| Some(path.file_name()?.to_str()?.strip_suffix(".bpf.c")?.to_owned());
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| name(&entry.path())).collect();
    names.sort();
    Ok(names)
}
