//! Converts global data to maps: each of `.data*`, `.rodata*` and `.bss*` becomes an array map with one value.

use crate::ObjectError;
use crate::elf::{Elf, Section};
use crate::kconfig::{ARRAY, MMAPABLE, READ_ONLY_PROG};
use crate::model::MapDef;

/// The section whose variables are in the arena.
const ARENA_SECTION: &str = ".addr_space.1";
/// `BPF_MAP_TYPE_ARENA`.
pub(crate) const ARENA: u32 = 33;
/// The maximum size of all global data, in bytes.
pub(crate) const MAX_DATA: u64 = 512 << 20;

/// The map for each of the ELF's sections.
#[derive(Debug)]
pub(crate) struct SectionMaps(Vec<Option<u32>>);

impl SectionMaps {
    pub(crate) fn get(&self, section: usize) -> Option<u32> {
        self.0.get(section).copied().flatten()
    }
}

/// Appends the maps of global data. The arena's variables go to the arena map, which already exists.
pub(crate) fn collect(elf: &Elf<'_>, maps: &mut Vec<MapDef>) -> Result<SectionMaps, ObjectError> {
    let mut left = MAX_DATA;
    let mut by_section = vec![None; elf.sections.len()];
    for (index, section) in elf.sections.iter().enumerate() {
        if section.code || !section.alloc || section.size == 0 {
            continue;
        }
        let arena = section.name == ARENA_SECTION;
        let Some(read_only) = read_only(section).or(arena.then_some(false)) else { continue };
        left = left
            .checked_sub(section.size)
            .ok_or(ObjectError::TooLarge { what: "bytes of global data", limit: MAX_DATA })?;
        let initial = match section.zeroes {
            true => vec![0; section.size as usize],
            false => section.data.to_vec(),
        };
        by_section[index] = Some(if arena {
            fill_arena(maps, initial)?
        } else {
            maps.push(MapDef { is_zero: section.zeroes, ..global(section.name, initial, read_only) });
            maps.len() as u32 - 1
        });
    }
    Ok(SectionMaps(by_section))
}

/// If this is a section of global data, returns whether programs must not write to it.
fn read_only(section: &Section<'_>) -> Option<bool> {
    let is = |name: &str| {
        section.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if is(".rodata") {
        Some(true)
    } else if is(".data") || is(".bss") {
        Some(false)
    } else {
        None
    }
}

fn global(name: &str, initial: Vec<u8>, read_only: bool) -> MapDef {
    MapDef {
        name: name.to_owned(),
        kind: ARRAY,
        key_size: 4,
        value_size: initial.len() as u32,
        max_entries: 1,
        flags: if read_only { MMAPABLE | READ_ONLY_PROG } else { MMAPABLE },
        extra: 0,
        inner: None,
        initial,
        is_zero: false,
        read_only,
        has_lock: false,
        kptrs: Vec::new(),
        is_shared: false,
        values: Vec::new(),
    }
}

fn fill_arena(maps: &mut [MapDef], initial: Vec<u8>) -> Result<u32, ObjectError> {
    const PAGE: usize = 4096;
    let bad = |why: &str| ObjectError::Map { map: ARENA_SECTION.to_owned(), why: why.to_owned() };
    let Some(index) = maps.iter().position(|map| map.kind == ARENA) else {
        return Err(bad("the object has variables in the arena, but no arena map"));
    };
    let map = &mut maps[index];
    if initial.len().div_ceil(PAGE) > map.max_entries as usize {
        return Err(bad("its variables don't fit into the arena"));
    }
    map.initial = initial;
    Ok(index as u32)
}
