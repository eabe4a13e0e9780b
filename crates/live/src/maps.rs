//! Finds libbpf's maps by the object's own names.

use crate::errors::LiveError;
use keel_object::Outline;
use keel_recipe::Value;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, Object, OpenMapMut, OpenObject};
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};

/// Returns whether libbpf's map `name` is the one that the object calls `wanted`. libbpf puts the object's name before
/// `.bss`, `.data` and `.rodata`.
fn is_called(name: &OsStr, wanted: &str) -> bool {
    let name = name.to_string_lossy();
    name == wanted || ([".bss", ".data", ".rodata"].contains(&wanted) && name.ends_with(wanted))
}

/// Returns a map of an object that is not loaded yet.
pub(crate) fn open_map<'o>(object: &'o mut OpenObject, name: &str) -> Option<OpenMapMut<'o>> {
    object.maps_mut().find(|map| is_called(map.name(), name))
}

/// Returns the bytes of a data section in the kernel. Empty if they cannot be read.
pub(crate) fn data(object: &Object, section: &str) -> Vec<u8> {
    let map = object.maps().find(|map| is_called(map.name(), section));
    let bytes = map.and_then(|map| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten());
    bytes.unwrap_or_default()
}

/// Returns a map that lives as long as its handle.
pub(crate) fn handle(object: &Object, name: &str) -> Result<MapHandle, String> {
    let map = object.maps().find(|map| is_called(map.name(), name));
    let map = map.ok_or_else(|| format!("the object has no map {name}"))?;
    MapHandle::try_from(&map).map_err(|e| e.to_string())
}

/// Puts an element into a map. In a per-CPU map, sets it for every CPU, unless it belongs to one CPU.
pub(crate) fn put(
    object: &Object,
    name: &str,
    (key, value): (&Value, &Value),
    cpu: Option<u32>,
) -> Result<(), LiveError> {
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
        let values = match cpu {
            None => vec![value; cpus],
            Some(cpu) => {
                // The other CPUs keep their values.
                let known = map.lookup_percpu(&key, MapFlags::ANY).ok().flatten();
                let mut values = known.unwrap_or_else(|| vec![vec![0; value.len()]; cpus]);
                let own = values.get_mut(cpu as usize).ok_or_else(|| LiveError::Element {
                    map: name.to_owned(),
                    why: format!("there is no CPU {cpu}"),
                })?;
                *own = value;
                values
            }
        };
        map.update_percpu(&key, &values, MapFlags::ANY)
    } else if cpu.is_some() {
        return Err(LiveError::Element {
            map: name.to_owned(),
            why: "it has no value for each CPU".to_owned(),
        });
    } else {
        map.update(&key, &value, MapFlags::ANY)
    };
    done.map_err(|e| LiveError::Element { map: name.to_owned(), why: e.to_string() })
}

/// Fills a map of maps with new maps, like the one in its definition.
pub(crate) fn nest(object: &Object, outline: &Outline, name: &str, number: u32) -> Result<(), LiveError> {
    let unknown = || LiveError::Unknown { what: "map of maps", name: name.to_owned() };
    let failed = |why: String| LiveError::Element { map: name.to_owned(), why };
    let outer = object.maps().find(|map| is_called(map.name(), name)).ok_or_else(unknown)?;
    let defs = &outline.object.maps;
    let inner = defs.iter().find(|def| def.name == name).and_then(|def| defs.get(def.inner? as usize));
    let inner = inner.ok_or_else(unknown)?;
    let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as _,
        map_flags: inner.flags,
        ..Default::default()
    };
    for index in 0..number {
        let kind = MapType::from(inner.kind);
        let sizes = (inner.key_size, inner.value_size, inner.max_entries);
        let made = MapHandle::create(kind, None::<&str>, sizes.0, sizes.1, sizes.2, &options);
        let made = made.map_err(|e| failed(e.to_string()))?;
        let fd = made.as_fd().as_raw_fd();
        let put = outer.update(&index.to_ne_bytes(), &fd.to_ne_bytes(), MapFlags::ANY);
        put.map_err(|e| failed(e.to_string()))?;
    }
    Ok(())
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
