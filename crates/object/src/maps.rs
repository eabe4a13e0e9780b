//! Reads the maps defined in `.maps`. Each is a variable of a struct type, whose members define the kind and sizes.
//!
//! Numbers are encoded in types: `__uint(max_entries, 7)` is a pointer to an array of 7.

use std::collections::BTreeMap;

use crate::ObjectError;
use crate::btf::{Btf, Kind, Member, TypeId};
use crate::data::ARENA;
use crate::elf::{Elf, SymbolKind};
use crate::model::MapDef;

/// The section of map definitions.
const SECTION: &str = ".maps";
/// The maximum number of maps.
const MAX_MAPS: usize = 4096;
/// The maximum number of members of a definition. There are a dozen kinds.
const MAX_MEMBERS: usize = 64;
/// The maximum number of fields of a value that are examined.
const MAX_FIELDS: usize = 4096;
/// `BPF_MAP_TYPE_PROG_ARRAY`, `_ARRAY_OF_MAPS`, `_HASH_OF_MAPS`.
const PROG_ARRAY: u32 = 3;
const MAPS_OF_MAPS: [u32; 2] = [12, 13];

/// The maps by their offset in `.maps`.
#[derive(Debug, Default)]
pub(crate) struct MapOffsets {
    pub(crate) section: Option<usize>,
    pub(crate) by_offset: BTreeMap<u64, u32>,
}

/// Reads all definitions, and appends the templates of inner maps after them.
pub(crate) fn collect(elf: &Elf<'_>, btf: &Btf, maps: &mut Vec<MapDef>) -> Result<MapOffsets, ObjectError> {
    refuse_legacy(elf)?;
    let Some(section) = elf.sections.iter().position(|section| section.name == SECTION) else {
        return Ok(MapOffsets::default());
    };
    let types = variables(btf);
    let mut offsets = MapOffsets { section: Some(section), ..MapOffsets::default() };
    let mut inner = Vec::new();
    for symbol in &elf.symbols {
        if symbol.section != Some(section) || symbol.kind != SymbolKind::Object {
            continue;
        }
        if maps.len() >= MAX_MAPS {
            return Err(ObjectError::TooLarge { what: "number of maps", limit: MAX_MAPS as u64 });
        }
        let bad = |why: String| ObjectError::Map { map: symbol.name.to_owned(), why };
        let ty = types.get(symbol.name).ok_or_else(|| bad("its type isn't in BTF".to_owned()))?;
        if offsets.by_offset.insert(symbol.value, maps.len() as u32).is_some() {
            return Err(bad("it lies where another map lies".to_owned()));
        }
        let (map, template) = define(btf, symbol.name, *ty, true).map_err(bad)?;
        if let Some(template) = template {
            inner.push((maps.len(), template));
        }
        if map.kind == ARENA && maps.iter().any(|map| map.kind == ARENA) {
            return Err(bad("it is the object's second arena, and there can be one only".to_owned()));
        }
        maps.push(map);
    }
    for (outer, template) in inner {
        maps[outer].inner = Some(maps.len() as u32);
        maps.push(template);
    }
    name_values(elf, section, &types, btf, &offsets, maps)?;
    Ok(offsets)
}

/// Finds the maps that a map of maps initially contains: its `values` contain their addresses.
fn name_values(
    elf: &Elf<'_>,
    section: usize,
    types: &BTreeMap<&str, TypeId>,
    btf: &Btf,
    offsets: &MapOffsets,
    maps: &mut [MapDef],
) -> Result<(), ObjectError> {
    for reloc in &elf.sections[section].relocs {
        let found = offsets.by_offset.range(..=reloc.offset).next_back();
        let (&at, &outer) = found.ok_or(ObjectError::Unsupported("a value in .maps of no map"))?;
        let map = &mut maps[outer as usize];
        if !MAPS_OF_MAPS.contains(&map.kind) {
            return Err(ObjectError::Unsupported("a map of programs whose entries it names itself"));
        }
        let bad = |why: &str| ObjectError::Map { map: map.name.clone(), why: why.to_owned() };
        let first = types.get(map.name.as_str()).and_then(|&ty| values_at(btf, ty));
        let within = first.and_then(|first| (reloc.offset - at).checked_sub(first)).filter(|n| n % 8 == 0);
        let slot = within.ok_or_else(|| bad("an address lies where it has no values"))? / 8;
        let symbol = elf.symbols.get(reloc.symbol as usize);
        let named = symbol.filter(|s| s.section == Some(section) && s.kind == SymbolKind::Object);
        let inner = named.and_then(|symbol| offsets.by_offset.get(&symbol.value));
        let inner = *inner.ok_or_else(|| bad("one of its values is not a map"))?;
        map.values.push((slot as u32, inner));
    }
    Ok(())
}

/// Returns the offset of a definition's values, in bytes.
fn values_at(btf: &Btf, ty: TypeId) -> Option<u64> {
    let Kind::Struct(definition) = btf.kind(btf.skip_modifiers(ty)) else { return None };
    let member = definition.members.iter().find(|member| btf.member_name(member) == "values")?;
    Some(u64::from(member.bit_offset / 8))
}

fn refuse_legacy(elf: &Elf<'_>) -> Result<(), ObjectError> {
    let Some(section) = elf.sections.iter().position(|section| section.name == "maps") else {
        return Ok(());
    };
    let defined = |s: &&crate::elf::Symbol<'_>| s.section == Some(section) && s.kind == SymbolKind::Object;
    let first = elf.symbols.iter().find(defined);
    Err(ObjectError::LegacyMap(first.map_or("", |symbol| symbol.name).to_owned()))
}

/// Returns the types of the variables in `.maps`.
fn variables(btf: &Btf) -> BTreeMap<&str, TypeId> {
    btf.variables().filter(|(section, _, _)| *section == SECTION).map(|(_, name, ty)| (name, ty)).collect()
}

/// What the members of a definition say, before they are combined.
#[derive(Default)]
struct Draft {
    map: MapDef,
    inner: Option<MapDef>,
}

fn define(btf: &Btf, name: &str, ty: TypeId, outermost: bool) -> Result<(MapDef, Option<MapDef>), String> {
    let Kind::Struct(definition) = btf.kind(btf.skip_modifiers(ty)) else {
        return Err("its definition is not a struct".to_owned());
    };
    if definition.members.len() > MAX_MEMBERS {
        return Err(format!("its definition has more than {MAX_MEMBERS} members"));
    }
    let mut draft = Draft::default();
    draft.map.name = name.to_owned();
    // The kind comes first, because it determines the meaning of `values`.
    for wanted in [true, false] {
        for member in definition.members.iter().filter(|m| (btf.member_name(m) == "type") == wanted) {
            member_says(btf, member, &mut draft, outermost)?;
        }
    }
    let Draft { map, inner } = draft;
    if map.kind == 0 {
        return Err("its definition has no type".to_owned());
    }
    if outermost && MAPS_OF_MAPS.contains(&map.kind) && inner.is_none() {
        return Err("it is a map of maps, but its definition has no values".to_owned());
    }
    Ok((map, inner))
}

fn member_says(btf: &Btf, member: &Member, draft: &mut Draft, outermost: bool) -> Result<(), String> {
    let name = btf.member_name(member);
    let number = || number(btf, member.ty).ok_or_else(|| format!("its {name} is not a number"));
    match name {
        "type" => draft.map.kind = number()?,
        "max_entries" => draft.map.max_entries = number()?,
        "map_flags" => draft.map.flags = number()?,
        "key_size" => set_size(&mut draft.map.key_size, number()?, "key")?,
        "value_size" => set_size(&mut draft.map.value_size, number()?, "value")?,
        "key" => set_size(&mut draft.map.key_size, pointee_size(btf, member.ty, "key")?, "key")?,
        "value" => {
            set_size(&mut draft.map.value_size, pointee_size(btf, member.ty, "value")?, "value")?;
            draft.map.has_lock = has_lock(btf, member.ty);
            if let Kind::Ptr(to) = btf.kind(btf.skip_modifiers(member.ty)) {
                draft.map.kptrs = btf.kptr_offsets(*to);
            }
        }
        "values" => values(btf, member.ty, draft, outermost)?,
        // Where memory is allocated, and what outlives the object, doesn't matter in a simulated
        // kernel.
        "numa_node" | "pinning" => drop(number()?),
        // The requested address of an arena, the number of hash functions of a bloom filter.
        "map_extra" => {
            draft.map.extra = long(btf, member.ty).ok_or("its map_extra is not a number")?;
        }
        _ => return Err(format!("its definition has the unknown member {name}")),
    }
    Ok(())
}

fn set_size(size: &mut u32, found: u32, what: &str) -> Result<(), String> {
    if *size != 0 && *size != found {
        return Err(format!("its {what} has two sizes, {size} and {found}"));
    }
    *size = found;
    Ok(())
}

fn number(btf: &Btf, ty: TypeId) -> Option<u32> {
    match btf.kind(btf.skip_modifiers(ty)) {
        Kind::Ptr(to) => match btf.kind(btf.skip_modifiers(*to)) {
            Kind::Array(array) => Some(array.count),
            _ => None,
        },
        // `__ulong()`: an enum of one value.
        Kind::Enum(e) => match e.values.as_slice() {
            [value] => u32::try_from(value.value).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a number from `__ulong()`, whose enum may have 64 bits.
fn long(btf: &Btf, ty: TypeId) -> Option<u64> {
    match btf.kind(btf.skip_modifiers(ty)) {
        Kind::Enum(e) => match e.values.as_slice() {
            [value] => Some(value.value),
            _ => None,
        },
        _ => number(btf, ty).map(u64::from),
    }
}

fn pointee_size(btf: &Btf, ty: TypeId, what: &str) -> Result<u32, String> {
    let Kind::Ptr(to) = btf.kind(btf.skip_modifiers(ty)) else {
        return Err(format!("its {what} is not a pointer to a type"));
    };
    btf.size_of(*to).ok_or_else(|| format!("its {what} has no size"))
}

/// Returns whether the pointee of this type contains a lock, possibly in a nested struct.
fn has_lock(btf: &Btf, ty: TypeId) -> bool {
    let Kind::Ptr(to) = btf.kind(btf.skip_modifiers(ty)) else { return false };
    let mut left = MAX_FIELDS;
    let mut structs = vec![*to];
    while let Some(ty) = structs.pop() {
        let ty = btf.skip_modifiers(ty);
        let Kind::Struct(definition) = btf.kind(ty) else { continue };
        if btf.name(ty) == "bpf_spin_lock" {
            return true;
        }
        // Untrusted types may contain themselves.
        let Some(rest) = left.checked_sub(definition.members.len()) else { return false };
        left = rest;
        structs.extend(definition.members.iter().map(|member| member.ty));
    }
    false
}

/// Reads `__array(values, ...)`: for a map of maps, the definition of the inner maps.
fn values(btf: &Btf, ty: TypeId, draft: &mut Draft, outermost: bool) -> Result<(), String> {
    let Kind::Array(array) = btf.kind(btf.skip_modifiers(ty)) else {
        return Err("its values are not an array".to_owned());
    };
    let Kind::Ptr(to) = btf.kind(btf.skip_modifiers(array.element)) else {
        return Err("its values are not pointers".to_owned());
    };
    set_size(&mut draft.map.value_size, 4, "value")?;
    match draft.map.kind {
        PROG_ARRAY => Ok(()),
        kind if MAPS_OF_MAPS.contains(&kind) && outermost => {
            let (inner, _) = define(btf, &format!("{}.inner", draft.map.name), *to, false)
                .map_err(|why| format!("of its inner maps: {why}"))?;
            draft.inner = Some(inner);
            Ok(())
        }
        kind if MAPS_OF_MAPS.contains(&kind) => Err("it nests maps deeper than one level".to_owned()),
        kind => Err(format!("it has values, which maps of type {kind} do not have")),
    }
}
