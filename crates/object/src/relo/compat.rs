//! Determines whether two types of two BTFs are compatible in a loose sense: kinds count, sizes don't.

use super::{CoreError, malformed};
use crate::btf::{Btf, Kind, TypeId, essential_name};
use crate::budget::Budget;

/// The maximum depth to which nested prototypes are compared.
const MAX_LEVEL: u32 = 32;

/// Two BTFs whose types are compared: the object's, then the kernel's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) local: &'a Btf,
    pub(crate) kernel: &'a Btf,
    pub(crate) budget: &'a Budget,
}

/// Returns whether both are of the same kind. Enums of 32 and of 64 bits are.
pub(super) fn same_kind(local: &Kind, kernel: &Kind) -> bool {
    std::mem::discriminant(local) == std::mem::discriminant(kernel)
}

/// Returns whether two types are compatible, as libbpf's `bpf_core_types_are_compat`: for kfunc prototypes, ksym
/// variables and `type_exists`.
///
/// The caller compares names. Structs count as compatible whatever their members.
///
/// # Errors
/// [`CoreError`] if types are nested too deeply.
pub(crate) fn compatible(pair: Pair<'_>, local: TypeId, kernel: TypeId) -> Result<bool, CoreError> {
    if !same_kind(pair.local.kind(local), pair.kernel.kind(kernel)) {
        return Ok(false);
    }
    compatible_at(pair, local, kernel, MAX_LEVEL)
}

fn compatible_at(pair: Pair<'_>, local: TypeId, kernel: TypeId, level: u32) -> Result<bool, CoreError> {
    let (mut local, mut kernel) = (local, kernel);
    for level in (0..level).rev() {
        pair.budget.spend(1)?;
        local = pair.local.skip_modifiers(local);
        kernel = pair.kernel.skip_modifiers(kernel);
        (local, kernel) = match (pair.local.kind(local), pair.kernel.kind(kernel)) {
            (Kind::Void, Kind::Void)
            | (Kind::Struct(_), Kind::Struct(_))
            | (Kind::Union(_), Kind::Union(_))
            | (Kind::Enum(_), Kind::Enum(_))
            | (Kind::Fwd { .. }, Kind::Fwd { .. }) => return Ok(true),
            (Kind::Int(a), Kind::Int(b)) => return Ok(a.offset == 0 && b.offset == 0),
            (Kind::Ptr(a), Kind::Ptr(b)) => (*a, *b),
            (Kind::Array(a), Kind::Array(b)) => (a.element, b.element),
            (Kind::FuncProto { returns: a, params: pa }, Kind::FuncProto { returns: b, params: pb }) => {
                if pa.len() != pb.len() {
                    return Ok(false);
                }
                for (a, b) in pa.iter().zip(pb) {
                    if !compatible_at(pair, a.ty, b.ty, level)? {
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

/// Returns whether a field of one type may be used for one of the other, as libbpf's `bpf_core_fields_are_compat`.
pub(super) fn fields_compatible(pair: Pair<'_>, local: TypeId, kernel: TypeId) -> Result<bool, CoreError> {
    let (mut local, mut kernel) = (local, kernel);
    for _ in 0..MAX_LEVEL {
        pair.budget.spend(1)?;
        local = pair.local.skip_modifiers(local);
        kernel = pair.kernel.skip_modifiers(kernel);
        (local, kernel) = match (pair.local.kind(local), pair.kernel.kind(kernel)) {
            (Kind::Struct(_) | Kind::Union(_), Kind::Struct(_) | Kind::Union(_))
            | (Kind::Ptr(_), Kind::Ptr(_))
            | (Kind::Float { .. }, Kind::Float { .. }) => return Ok(true),
            (Kind::Fwd { .. }, Kind::Fwd { .. }) | (Kind::Enum(_), Kind::Enum(_)) => {
                let (a, b) =
                    (essential_name(pair.local.name(local)), essential_name(pair.kernel.name(kernel)));
                return Ok(a.is_empty() || b.is_empty() || a == b);
            }
            (Kind::Int(a), Kind::Int(b)) => return Ok(a.offset == 0 && b.offset == 0),
            (Kind::Array(a), Kind::Array(b)) => (a.element, b.element),
            _ => return Ok(false),
        };
    }
    malformed("its types are nested too deeply")
}
