//! libbpf's maps by the object's own names.

use crate::errors::LiveError;
use keel_recipe::Value;
use libbpf_rs::{MapCore, MapFlags, MapType, Object, OpenMapMut, OpenObject};
use std::ffi::OsStr;

/// Is `name`, libbpf's, the map that the object calls `wanted`? libbpf puts the object's name before
/// `.bss`, `.data` and `.rodata`.
fn is_called(name: &OsStr, wanted: &str) -> bool {
    let name = name.to_string_lossy();
    name == wanted || ([".bss", ".data", ".rodata"].contains(&wanted) && name.ends_with(wanted))
}

/// A map of an object that is not loaded yet.
pub(crate) fn open_map<'o>(object: &'o mut OpenObject, name: &str) -> Option<OpenMapMut<'o>> {
    object.maps_mut().find(|map| is_called(map.name(), name))
}

/// The bytes of a data section in the kernel; empty where they cannot be read.
pub(crate) fn data(object: &Object, section: &str) -> Vec<u8> {
    let map = object.maps().find(|map| is_called(map.name(), section));
    let bytes = map.and_then(|map| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten());
    bytes.unwrap_or_default()
}

/// Puts an element into a map; of a per-CPU map every CPU gets it.
pub(crate) fn put(object: &Object, name: &str, key: &Value, value: &Value) -> Result<(), LiveError> {
    let map = object.maps().find(|map| is_called(map.name(), name));
    let map = map.ok_or_else(|| LiveError::Unknown { what: "map", name: name.to_owned() })?;
    let fit = |what: &Value, part, size: usize| {
        what.bytes(size).ok_or_else(|| LiveError::DoesNotFit { map: name.to_owned(), part, size })
    };
    let key = fit(key, "key", map.key_size() as usize)?;
    let value = fit(value, "value", map.value_size() as usize)?;
    let per_cpu = [MapType::PercpuArray, MapType::PercpuHash, MapType::LruPercpuHash];
    let done = if per_cpu.contains(&map.map_type()) {
        let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1);
        map.update_percpu(&key, &vec![value; cpus], MapFlags::ANY)
    } else {
        map.update(&key, &value, MapFlags::ANY)
    };
    done.map_err(|e| LiveError::Element { map: name.to_owned(), why: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_sections_are_found_under_libbpfs_names() {
        let check = |name: &str, wanted, expected| {
            assert_eq!(is_called(OsStr::new(name), wanted), expected, "{name}")
        };
        check("o1_bpf.bss", ".bss", true);
        check(".data.uei", ".data.uei", true);
        check("hints", "hints", true);
        check("more_hints", "hints", false);
        check("o1_bpf.rodata", ".data", false);
    }
}
