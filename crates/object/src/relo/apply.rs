//! Applies all CO-RE relocations of an object: finds candidates, determines their common answer, patches the
//! instruction.

use std::collections::BTreeMap;

use super::compat::{Pair, same_kind};
use super::find::find;
use super::kinds::Ask;
use super::patch::{Outcome, patch, poison};
use super::spec::Spec;
use super::value::{Answer, answer};
use super::{CoreError, malformed, missing};
use crate::ObjectError;
use crate::btf::{Kind, TypeId};
use crate::code::Places;
use crate::ext::{CoreRecord, Records};
use crate::model::{Function, Poison};

/// Answers by type, access string and question. They are cached because objects repeat the same questions.
type Known = BTreeMap<(TypeId, u32, Ask), Outcome>;

/// Applies every relocation to the instructions of its function.
///
/// # Errors
/// [`ObjectError::Core`] for a malformed relocation, or [`ObjectError::TooComplex`]. If the kernel merely lacks
/// something, the instruction is poisoned.
pub(crate) fn apply(
    pair: Pair<'_>,
    places: &Places,
    records: &[Records<CoreRecord>],
    functions: &mut [Function],
) -> Result<(), ObjectError> {
    let mut known = Known::new();
    for group in records {
        for record in &group.records {
            let Some((function, at)) = places.holding(group.section, u64::from(record.offset / 8)) else {
                continue;
            };
            let function = &mut functions[function];
            apply_one(pair, record, function, at, &mut known).map_err(|error| match error {
                CoreError::TooComplex => ObjectError::TooComplex,
                CoreError::Malformed(why) => {
                    ObjectError::Core { function: function.name.clone(), insn: at as u32, why }
                }
            })?;
        }
    }
    Ok(())
}

fn apply_one(
    pair: Pair<'_>,
    record: &CoreRecord,
    function: &mut Function,
    at: usize,
    known: &mut Known,
) -> Result<(), CoreError> {
    let Some(ask) = Ask::of(record.kind) else {
        return malformed(&format!("its kind {} is unknown", record.kind));
    };
    if !record.offset.is_multiple_of(8) {
        return malformed("it lies within an instruction");
    }
    let Ok(access) = pair.local.string(record.access) else {
        return malformed("its access string is unreadable");
    };
    let key = (record.ty, record.access, ask);
    let outcome = match known.get(&key) {
        Some(outcome) => outcome.clone(),
        None => {
            let outcome = resolve(pair, record.ty, access, ask)?;
            if let Outcome::Poison { missing } = &outcome {
                pair.budget.spend(missing.len() as u64)?;
            }
            known.entry(key).or_insert(outcome).clone()
        }
    };
    let missing = match outcome {
        Outcome::Poison { missing } => missing,
        Outcome::Patch { old, new, misread } => {
            if patch(&mut function.insns, at, &old, &new, misread)? {
                return Ok(());
            }
            let spec = Spec::parse(pair.local, record.ty, access, ask)?;
            missing::misread(pair.local, &spec)
        }
    };
    pair.budget.spend(missing.len() as u64)?;
    poison(&mut function.insns, at);
    function.poison.push(Poison { insn: at as u32, missing });
    Ok(())
}

/// Answers one question with the kernel's types.
pub(super) fn resolve(pair: Pair<'_>, ty: TypeId, access: &str, ask: Ask) -> Result<Outcome, CoreError> {
    let local = Spec::parse(pair.local, ty, access, ask)?;
    let Some(old) = answer(pair.local, Some(&local), ask)? else {
        return malformed("what it asks for has no value");
    };
    if ask == Ask::TypeIdLocal {
        return Ok(Outcome::Patch { old, new: old, misread: false });
    }
    let name = pair.local.name(ty);
    if name.is_empty() {
        return malformed("its type has no name to look for");
    }
    let mut candidates = 0;
    let mut common: Option<(Spec, Option<Answer>)> = None;
    for &candidate in pair.kernel.find_essential(name) {
        pair.budget.spend(1)?;
        if !same_kind(pair.local.kind(ty), pair.kernel.kind(candidate)) {
            continue;
        }
        candidates += 1;
        let Some(spec) = find(pair, &local, candidate, ask)? else { continue };
        let new = answer(pair.kernel, Some(&spec), ask)?;
        match &common {
            None => common = Some((spec, new)),
            Some((first, answered)) => {
                if first.bit_offset != spec.bit_offset || answered.map(|a| a.value) != new.map(|a| a.value) {
                    return malformed("the kernel has several types of that name, which differ in it");
                }
            }
        }
    }
    let new = match common {
        Some((_, new)) => new,
        None => answer(pair.kernel, None, ask)?,
    };
    Ok(match new {
        Some(new) => Outcome::Patch { old, new, misread: misread(pair, &old, &new) },
        None => {
            Outcome::Poison { missing: missing::missing(pair.local, pair.kernel, &local, ask, candidates) }
        }
    })
}

/// Returns whether the instruction would misread the field: sizes may differ only between pointers and between unsigned
/// integers.
fn misread(pair: Pair<'_>, old: &Answer, new: &Answer) -> bool {
    let (Some((old_size, old_ty)), Some((new_size, new_ty))) = (old.access, new.access) else { return false };
    let (old_kind, new_kind) = (pair.local.kind(old_ty), pair.kernel.kind(new_ty));
    old_size != new_size
        && match (old_kind, new_kind) {
            (Kind::Ptr(_), Kind::Ptr(_)) => false,
            (Kind::Int(a), Kind::Int(b)) => a.signed || b.signed,
            _ => true,
        }
}
