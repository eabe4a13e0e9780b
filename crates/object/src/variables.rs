//! Finds global variables by name, and fills the constants that schedulers leave to their loader.

use std::collections::BTreeMap;

use crate::ObjectError;
use crate::btf::{Btf, Kind, TypeId};
use crate::data::{ARENA, SectionMaps};
use crate::elf::{Elf, Objects};
use crate::enum_names;
use crate::model::{Elements, MapDef, Variable};

/// The maximum number of variables.
const MAX_VARIABLES: usize = 1 << 16;

/// Returns all variables of global data that BTF names.
pub(crate) fn collect(
    elf: &Elf<'_>,
    objects: &Objects<'_>,
    btf: &Btf,
    data: &SectionMaps,
    maps: &[MapDef],
) -> Result<Vec<Variable>, ObjectError> {
    let sections: BTreeMap<&str, usize> =
        elf.sections.iter().enumerate().map(|(index, section)| (section.name, index)).collect();
    let mut variables = Vec::new();
    let mut budget = enum_names::MOST_BYTES;
    for (id, ty) in btf.types() {
        let Kind::Datasec { vars, size } = &ty.kind else { continue };
        let Some(&section) = sections.get(btf.name(id)) else { continue };
        let Some(map) = data.get(section) else { continue };
        for var in vars {
            let Kind::Var { ty, .. } = btf.kind(var.ty) else { continue };
            // Compilers leave offsets to the linker. If a linker has set them, they are right.
            let offset = match objects.get(&(section, btf.name(var.ty))) {
                _ if *size != 0 => u64::from(var.offset),
                Some(&offset) => offset,
                None => continue,
            };
            if variables.len() >= MAX_VARIABLES {
                return Err(ObjectError::TooLarge {
                    what: "number of variables",
                    limit: MAX_VARIABLES as u64,
                });
            }
            let found = variable(btf, btf.name(var.ty), *ty, (map, offset), maps);
            variables.extend(
                found.map(|found| Variable { words: enum_names::of_enum(btf, *ty, &mut budget), ..found }),
            );
        }
    }
    Ok(variables)
}

/// Returns a variable, if it lies within its map.
fn variable(btf: &Btf, name: &str, ty: TypeId, place: (u32, u64), maps: &[MapDef]) -> Option<Variable> {
    let (map, offset) = place;
    let size = btf.size_of(ty)?;
    let end = offset.checked_add(u64::from(size))?;
    let budget = match &maps[map as usize] {
        arena if arena.kind == ARENA => arena.initial.len() as u64,
        map => u64::from(map.value_size),
    };
    (end <= budget).then(|| Variable {
        name: name.to_owned(),
        map,
        offset: offset as u32,
        size,
        len: array_len(btf, ty),
        signed: signed(btf, ty, size),
        boolean: is_boolean(btf, ty),
        elements: elements(btf, ty),
        words: Vec::new(),
    })
}

fn array_len(btf: &Btf, ty: TypeId) -> u32 {
    match btf.kind(btf.skip_modifiers(ty)) {
        Kind::Array(array) => array.count,
        _ => 1,
    }
}

/// Returns the elements of a one-dimensional array of integers.
fn elements(btf: &Btf, ty: TypeId) -> Option<Elements> {
    let Kind::Array(array) = btf.kind(btf.skip_modifiers(ty)) else { return None };
    let size = btf.size_of(array.element)?;
    let boolean = is_boolean(btf, array.element);
    Some(Elements { size, signed: signed(btf, array.element, size)?, boolean })
}

fn is_boolean(btf: &Btf, ty: TypeId) -> bool {
    matches!(btf.kind(btf.skip_modifiers(ty)), Kind::Int(int) if int.boolean)
}

fn signed(btf: &Btf, ty: TypeId, size: u32) -> Option<bool> {
    match btf.kind(btf.skip_modifiers(ty)) {
        _ if !matches!(size, 1 | 2 | 4 | 8) => None,
        Kind::Int(int) => Some(int.signed),
        Kind::Enum(e) => Some(e.signed),
        _ => None,
    }
}

/// Fills read-only integers called `__X` with the kernel's enumerator `X`, as scx's loader does.
///
/// Their headers declare `const volatile u64 __SCX_DSQ_LOCAL __weak` and rely on this. Constants that the kernel lacks
/// stay 0, and those that the object has set itself are not changed.
pub(crate) fn fill_constants(kernel: &Btf, variables: &[Variable], maps: &mut [MapDef]) {
    for variable in variables.iter().filter(|variable| variable.signed.is_some()) {
        let map = &mut maps[variable.map as usize];
        let Some(name) = variable.name.strip_prefix("__").filter(|_| map.read_only) else { continue };
        let Some(value) = kernel.enumerator(name) else { continue };
        let (start, size) = (variable.offset as usize, variable.size as usize);
        let Some(bytes) = map.initial.get_mut(start..start + size) else { continue };
        if bytes.iter().all(|&byte| byte == 0) {
            bytes.copy_from_slice(&value.to_le_bytes()[..size]);
            map.is_zero = false;
        }
    }
}
