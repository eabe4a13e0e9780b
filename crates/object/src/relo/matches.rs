//! Determines whether two types match strictly, as libbpf's `bpf_core_types_match`, for `bpf_core_type_matches()`.

use super::compat::Pair;
use super::{CoreError, malformed};
use crate::btf::{Enum, Kind, Struct, TypeId, essential_name};

/// The maximum depth to which types are compared.
const MAX_LEVEL: u32 = 32;

/// Returns whether the kernel's type has everything that the object's has, by name, kind and size.
pub(super) fn types_match(pair: Pair<'_>, local: TypeId, kernel: TypeId) -> Result<bool, CoreError> {
    match_at(pair, local, kernel, false, MAX_LEVEL)
}

fn match_at(
    pair: Pair<'_>,
    local: TypeId,
    kernel: TypeId,
    behind_pointer: bool,
    level: u32,
) -> Result<bool, CoreError> {
    let (mut local, mut kernel, mut behind_pointer) = (local, kernel, behind_pointer);
    for level in (0..level).rev() {
        pair.budget.spend(1)?;
        local = pair.local.skip_modifiers(local);
        kernel = pair.kernel.skip_modifiers(kernel);
        if essential_name(pair.local.name(local)) != essential_name(pair.kernel.name(kernel)) {
            return Ok(false);
        }
        (local, kernel) = match (pair.local.kind(local), pair.kernel.kind(kernel)) {
            (Kind::Void, Kind::Void) => return Ok(true),
            (Kind::Int(a), Kind::Int(b)) => return Ok(a.size == b.size && a.signed == b.signed),
            (Kind::Enum(a), Kind::Enum(b)) => return enums_match(pair, a, b),
            (Kind::Fwd { union: a }, Kind::Fwd { union: b }) => return Ok(a == b),
            // Behind a pointer a declaration is as good as a definition.
            (Kind::Fwd { union: a }, b) | (b, Kind::Fwd { union: a }) if behind_pointer => {
                return Ok(matches!((b, a), (Kind::Struct(_), false) | (Kind::Union(_), true)));
            }
            (Kind::Struct(a), Kind::Struct(b)) | (Kind::Union(a), Kind::Union(b)) => {
                return if behind_pointer { Ok(true) } else { members_match(pair, a, b, level) };
            }
            (Kind::Ptr(a), Kind::Ptr(b)) => {
                behind_pointer = true;
                (*a, *b)
            }
            (Kind::Array(a), Kind::Array(b)) if a.count == b.count => (a.element, b.element),
            (Kind::FuncProto { returns: a, params: pa }, Kind::FuncProto { returns: b, params: pb })
                if pa.len() == pb.len() =>
            {
                for (a, b) in pa.iter().zip(pb) {
                    if !match_at(pair, a.ty, b.ty, behind_pointer, level)? {
                        return Ok(false);
                    }
                }
                (*a, *b)
            }
            _ => return Ok(false),
        };
    }
    malformed("its types are nested too deeply")
}

fn enums_match(pair: Pair<'_>, local: &Enum, kernel: &Enum) -> Result<bool, CoreError> {
    if local.size != kernel.size || local.values.len() > kernel.values.len() {
        return Ok(false);
    }
    for value in &local.values {
        pair.budget.spend(kernel.values.len() as u64)?;
        let name = essential_name(pair.local.str_or_empty(value.name));
        if !kernel.values.iter().any(|v| essential_name(pair.kernel.str_or_empty(v.name)) == name) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn members_match(pair: Pair<'_>, local: &Struct, kernel: &Struct, level: u32) -> Result<bool, CoreError> {
    if local.members.len() > kernel.members.len() {
        return Ok(false);
    }
    for member in &local.members {
        pair.budget.spend(kernel.members.len() as u64)?;
        let name = essential_name(pair.local.member_name(member));
        let mut found = false;
        for candidate in &kernel.members {
            if essential_name(pair.kernel.member_name(candidate)) == name
                && match_at(pair, member.ty, candidate.ty, false, level)?
            {
                found = true;
                break;
            }
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}
