//! Answers a relocation's question, with the object's own types or the kernel's.

use super::kinds::{Ask, Subject};
use super::spec::Spec;
use super::{CoreError, malformed};
use crate::btf::{Btf, Kind, Member, TypeId};

/// An answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) value: u64,
    /// The size of the field in bytes, and its type, if a load or store may have to be resized.
    pub(super) access: Option<(u32, TypeId)>,
    /// Whether the compiler's own answer must be the same (for the object's types).
    pub(super) certain: bool,
}

/// Answers the question. Returns `None` if the type or field is missing and the question makes no sense without it.
pub(super) fn answer(btf: &Btf, spec: Option<&Spec>, ask: Ask) -> Result<Option<Answer>, CoreError> {
    match ask.subject() {
        Subject::Field => field_answer(btf, spec, ask),
        Subject::Type => type_answer(btf, spec, ask).map(Some),
        Subject::Enum => Ok(enum_answer(btf, spec, ask)),
    }
}

fn certain(value: u64) -> Answer {
    Answer { value, access: None, certain: true }
}

fn type_answer(btf: &Btf, spec: Option<&Spec>, ask: Ask) -> Result<Answer, CoreError> {
    let Some(spec) = spec else { return Ok(certain(0)) };
    match ask {
        Ask::TypeIdLocal | Ask::TypeIdTarget => {
            // Linkers renumber types, so the compiler's own number is meaningless.
            Ok(Answer { certain: false, ..certain(u64::from(spec.root.0)) })
        }
        Ask::TypeSize => match btf.size_of(spec.root) {
            Some(size) => Ok(certain(u64::from(size))),
            None => malformed("its type has no size"),
        },
        _ => Ok(certain(1)),
    }
}

fn enum_answer(btf: &Btf, spec: Option<&Spec>, ask: Ask) -> Option<Answer> {
    if ask == Ask::EnumExists {
        return Some(certain(u64::from(spec.is_some())));
    }
    let step = spec?.steps.first()?;
    match btf.kind(step.ty) {
        Kind::Enum(e) => e.values.get(step.index as usize).map(|v| certain(v.value)),
        _ => None,
    }
}

fn field_answer(btf: &Btf, spec: Option<&Spec>, ask: Ask) -> Result<Option<Answer>, CoreError> {
    if ask == Ask::FieldExists {
        return Ok(Some(certain(u64::from(spec.is_some()))));
    }
    let Some((spec, last)) = spec.and_then(|spec| spec.steps.last().map(|last| (spec, last))) else {
        return Ok(None);
    };
    if last.named {
        let Some(member) = btf.members(last.ty).and_then(|s| s.members.get(last.index as usize)) else {
            return malformed("it names a member that isn't there");
        };
        return member_answer(btf, spec, member, ask).map(Some);
    }
    let Some(size) = btf.size_of(last.ty) else { return malformed("an element has no size") };
    match ask {
        Ask::FieldOffset => {
            Ok(Some(Answer { access: Some((size, last.ty)), ..certain(spec.bit_offset / 8) }))
        }
        Ask::FieldSize => Ok(Some(certain(u64::from(size)))),
        _ => malformed("it asks for the bits of an array's element"),
    }
}

fn member_answer(btf: &Btf, spec: &Spec, member: &Member, ask: Ask) -> Result<Answer, CoreError> {
    let ty = btf.skip_modifiers(member.ty);
    let place = Load::of(btf, ty, spec.bit_offset, member.bit_size)?;
    let bitfield = member.bit_size > 0;
    let answer = |value| Answer { value, access: None, certain: !bitfield };
    Ok(match ask {
        Ask::FieldOffset if bitfield => answer(place.byte_offset),
        Ask::FieldOffset => Answer { access: element_access(btf, ty), ..answer(place.byte_offset) },
        Ask::FieldSize => answer(place.byte_size),
        // Signedness and the right shift don't depend on how the bits are loaded.
        Ask::FieldSigned => certain(u64::from(match btf.kind(ty) {
            Kind::Int(int) => int.signed,
            Kind::Enum(e) => e.signed,
            _ => false,
        })),
        Ask::FieldRightShift => certain(64u64.wrapping_sub(place.bit_size)),
        Ask::FieldLeftShift => {
            let used = spec.bit_offset + place.bit_size - place.byte_offset * 8;
            answer(64u64.wrapping_sub(used))
        }
        _ => return malformed("it asks for something that a field doesn't have"),
    })
}

/// Returns the access for a field that is an array: a load or store accesses one element, but the type is the array's.
fn element_access(btf: &Btf, array: TypeId) -> Option<(u32, TypeId)> {
    let mut ty = array;
    for _ in 0..crate::btf::MAX_DEPTH {
        match btf.kind(ty) {
            Kind::Array(array) => ty = btf.skip_modifiers(array.element),
            _ => return btf.size_of(ty).map(|size| (size, array)),
        }
    }
    None
}

/// How a field is loaded: which bytes, and which of their bits.
struct Load {
    byte_offset: u64,
    byte_size: u64,
    bit_size: u64,
}

impl Load {
    fn of(btf: &Btf, ty: TypeId, bit_offset: u64, bit_size: u32) -> Result<Load, CoreError> {
        let Some(size) = btf.size_of(ty).map(u64::from) else { return malformed("its field has no size") };
        let bit_size = u64::from(bit_size);
        if bit_size == 0 {
            return Ok(Load { byte_offset: bit_offset / 8, byte_size: size, bit_size: size * 8 });
        }
        // The smallest aligned word that holds all bits of the field.
        let mut byte_size = size;
        loop {
            if byte_size == 0 || byte_size > 8 {
                return malformed("its bit-field fits no word");
            }
            let byte_offset = bit_offset / 8 / byte_size * byte_size;
            if bit_offset + bit_size - byte_offset * 8 <= byte_size * 8 {
                return Ok(Load { byte_offset, byte_size, bit_size });
            }
            byte_size *= 2;
        }
    }
}
