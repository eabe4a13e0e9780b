//! The modules that the guest loads before it has a root, each after its dependencies.

use crate::error::{GuestError, at};
use crate::tools;
use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The modules that a guest needs to access its host: the bus, the ports, the host's files, a layer above them.
pub(crate) const WANTED: &[&str] = &["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay"];

/// An unpacked module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// Its name in other modules: with `_` where its file may have `-`.
    pub(crate) name: String,
    /// The ELF object.
    pub(crate) bytes: Vec<u8>,
}

/// Returns the wanted modules below a folder with all dependencies, in an order in which they can be loaded. A module
/// without a file counts as part of the kernel itself.
pub(crate) fn collect(folder: &Path) -> Result<Vec<Module>, GuestError> {
    let files = files(folder)?;
    in_order(WANTED, &|name| {
        let Some(path) = files.get(name) else { return Ok(None) };
        read(path).map(Some)
    })
}

/// A module's bytes, if it has a file.
type Found = Result<Option<Vec<u8>>, GuestError>;

/// Depth first: a module's dependencies come before it.
fn in_order(wanted: &[&str], read: &dyn Fn(&str) -> Found) -> Result<Vec<Module>, GuestError> {
    let mut ordered: Vec<Module> = Vec::new();
    let mut pending: Vec<(String, bool)> =
        wanted.iter().rev().map(|name| ((*name).to_owned(), false)).collect();
    let mut opened: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    while let Some((name, needs_met)) = pending.pop() {
        if needs_met {
            let bytes = opened.get(&name).cloned().unwrap_or_default();
            ordered.push(Module { name, bytes });
            continue;
        }
        if opened.contains_key(&name) {
            continue;
        }
        let Some(bytes) = read(&name)? else { continue };
        let needs = needs(&bytes).map_err(|e| {
            GuestError::Input(format!("the module {name} is damaged ({e}); delete its kernel from the cache"))
        })?;
        opened.insert(name.clone(), bytes);
        pending.push((name, true));
        pending.extend(needs.into_iter().map(|need| (need, false)));
    }
    Ok(ordered)
}

/// `depends=` in a module's section `.modinfo`, as depmod reads it.
fn needs(module: &[u8]) -> Result<Vec<String>, object::Error> {
    let file = object::File::parse(module)?;
    let Some(section) = file.section_by_name(".modinfo") else { return Ok(Vec::new()) };
    let mut entries = section.data()?.split(|byte| *byte == 0);
    let names = entries.find_map(|entry| entry.strip_prefix(b"depends=")).unwrap_or_default();
    let names = String::from_utf8_lossy(names);
    Ok(names.split(',').filter(|name| !name.is_empty()).map(canonical).collect())
}

fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns every module below a folder, by its name.
fn files(folder: &Path) -> Result<BTreeMap<String, PathBuf>, GuestError> {
    let mut files = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).map_err(at(&folder))?.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(path);
            } else if let Some((name, _)) = entry.file_name().to_str().and_then(|name| name.split_once(".ko"))
            {
                files.insert(canonical(name), path);
            }
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("ko") => std::fs::read(path).map_err(at(path)),
        Some("xz") => tools::unxz(path),
        _ => Err(GuestError::Input(format!("{}: the module's compression is unknown", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the smallest possible module: one section with its dependencies.
    fn module(needs: &str) -> Vec<u8> {
        let format = (object::BinaryFormat::Elf, object::Architecture::X86_64, object::Endianness::Little);
        let mut file = object::write::Object::new(format.0, format.1, format.2);
        let section = file.add_section(Vec::new(), b".modinfo".to_vec(), object::SectionKind::ReadOnlyData);
        let text = format!("license=GPL\0depends={needs}\0name=x\0");
        file.append_section_data(section, text.as_bytes(), 1);
        file.write().unwrap()
    }

    fn check(tree: &[(&str, &str)], wanted: &[&str], expected: &[&str]) {
        let read =
            |name: &str| Ok(tree.iter().find(|(each, _)| *each == name).map(|(_, needs)| module(needs)));
        let ordered = in_order(wanted, &read).unwrap();
        let names: Vec<&str> = ordered.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, expected, "{tree:?}");
    }

    #[test]
    fn what_a_module_needs_comes_before_it() {
        check(&[("a", "")], &["a"], &["a"]);
        check(&[("a", "b,c"), ("b", "c"), ("c", "")], &["a"], &["c", "b", "a"]);
        check(
            &[("9p", "9pnet,netfs"), ("9pnet", ""), ("netfs", "")],
            &["9pnet", "9p"],
            &["9pnet", "netfs", "9p"],
        );
    }

    #[test]
    fn what_has_no_file_is_in_the_kernel() {
        check(&[("a", "built_in")], &["virtio", "a"], &["a"]);
    }

    #[test]
    fn names_with_dashes_are_found() {
        check(&[("a", "x-y"), ("x_y", "")], &["a"], &["x_y", "a"]);
    }

    #[test]
    fn a_circle_ends() {
        check(&[("a", "b"), ("b", "a")], &["a"], &["b", "a"]);
    }

    #[test]
    fn a_damaged_module_is_named() {
        let reported = in_order(&["a"], &|_| Ok(Some(b"\x7fELF".to_vec()))).unwrap_err().to_string();
        assert!(reported.contains("module a is damaged"), "{reported}");
    }
}
