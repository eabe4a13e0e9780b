//! The objects to check, compiled as for users, and the cases of `tests/bpf`.

use super::kernels::version_of;
use crate::Failure;
use crate::tree::root;
use keel_bpfc::{Case, Compiler};

/// A compiled object.
#[derive(Clone)]
pub(super) struct BpfObject {
    /// Its name, which is its scheduler's. With a setting, `name+setting=value`.
    pub(super) name: String,
    /// The bytes for a loader.
    pub(super) bytes: Vec<u8>,
    /// For an object that is not a scheduler, its cases.
    pub(super) cases: Vec<Case>,
}

/// The guest's folder for objects with cases, and the prefix of their names.
pub(super) const CASES: &str = "bpf/";

/// Objects that need a type which older kernels lack: the first kernel that has it.
const SINCE: &[(&str, (u32, u32))] = &[("cids", (7, 2))];

/// Settings that make an object run other code. A verifier never looks at code that the current settings disable.
const SETTINGS: &[(&str, &str, u64)] = &[
    ("bsd", "decay", 0),
    ("bsd", "waking_priority", 0),
    ("cfs", "bug", 15),
    ("cfs", "tell_policy", 1),
    ("cfs", "autogroup", 0),
    ("fifo", "fifo", 1),
    ("goodness", "squeeze", 1),
    ("mq", "global_queue", 1),
    ("mq", "steal", 0),
    ("o1", "balance", 0),
    ("o1", "global_queue", 1),
    ("ule", "posted", 1),
    ("ule", "ratio", 0),
    ("ule", "steal", 0),
    ("ule", "push", 0),
    ("ule", "patience", 0),
    ("wasteful", "follow_waker", 0),
];

/// The cases, the schedulers, the objects that are wrong on purpose, and the one that schedules by cgroup.
pub(super) fn compile() -> Result<Vec<BpfObject>, Failure> {
    let compiler = Compiler::new(root()).include("schedulers/include").include("crates/kernel/btf");
    let mut objects = cases(&compiler.clone().cpu("v4"))?;
    for folder in ["schedulers", "tests/objects", "tests/sim/cgroups"] {
        for name in compiler.names(folder).map_err(|e| e.to_string())? {
            let source = format!("{folder}/{name}.bpf.c");
            let bytes = compiler.compile(&source).map_err(|e| e.to_string())?;
            for (_, setting, value) in SETTINGS.iter().filter(|(object, ..)| *object == name) {
                let mut bytes = bytes.clone();
                keel_bpfc::set(&mut bytes, setting, *value).map_err(|e| format!("{source}: {e}"))?;
                let name = format!("{name}+{setting}={value}");
                objects.push(BpfObject { name, bytes, cases: Vec::new() });
            }
            objects.push(BpfObject { name, bytes, cases: Vec::new() });
        }
    }
    Ok(objects)
}

/// One small program per feature: `tests/bpf`.
fn cases(compiler: &Compiler) -> Result<Vec<BpfObject>, Failure> {
    let names = compiler.names("tests/bpf").map_err(|e| e.to_string())?;
    let object = |name: String| {
        let bytes = compiler.compile(format!("tests/bpf/{name}.bpf.c")).map_err(|e| e.to_string())?;
        let cases = keel_bpfc::cases(&bytes).map_err(|e| format!("tests/bpf/{name}.bpf.c: {e}"))?;
        Ok(BpfObject { name: format!("{CASES}{name}"), bytes, cases })
    };
    names.into_iter().map(object).collect()
}

impl BpfObject {
    /// Whether this kernel, such as `7.2`, has what the object needs.
    pub(super) fn is_for(&self, kernel: &str) -> bool {
        let since = SINCE.iter().find(|(object, _)| *object == self.scheduler());
        since.is_none_or(|(_, since)| version_of(kernel).is_some_and(|version| version >= *since))
    }

    /// The name under which it attaches.
    pub(super) fn scheduler(&self) -> &str {
        self.name.split('+').next().unwrap_or(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernel_is_spared_what_it_has_no_type_for() {
        let check = |name: &str, kernel, expected| {
            let object = BpfObject { name: name.to_owned(), bytes: Vec::new(), cases: Vec::new() };
            assert_eq!(object.is_for(kernel), expected, "{name} on {kernel}");
        };
        check("cids", "7.0", false);
        check("cids", "6.18", false);
        check("cids", "7.2", true);
        check("cids", "7.2.13", true);
        check("stall", "6.18", true);
    }
}
