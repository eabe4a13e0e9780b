//! Parses the access string of a relocation: a path into a type.

use super::kinds::{Ask, Subject};
use super::{CoreError, malformed};
use crate::btf::{Array, Btf, Kind, TypeId};

/// The maximum number of steps in an access string (libbpf's `BPF_CORE_SPEC_MAX_LEN`).
pub(super) const MAX_STEPS: usize = 64;

/// One step into a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The struct or union of the member, the enum of the value, or the type of the array's elements.
    pub(super) ty: TypeId,
    /// The index of the member, value or element.
    pub(super) index: u32,
    /// Whether it is a named member or an enum's value; otherwise it is an array's element.
    pub(super) named: bool,
}

/// A path into a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) root: TypeId,
    /// Its steps: named members and array elements, but not anonymous members.
    pub(super) steps: Vec<Step>,
    /// Its end, in bits from the root's start.
    pub(super) bit_offset: u64,
}

impl Spec {
    pub(super) fn new(root: TypeId) -> Spec {
        Spec { root, steps: Vec::new(), bit_offset: 0 }
    }

    /// Parses an access string with the object's own types.
    pub(super) fn parse(btf: &Btf, root: TypeId, access: &str, ask: Ask) -> Result<Spec, CoreError> {
        let mut spec = Spec::new(root);
        if ask.subject() == Subject::Type {
            return if access == "0" { Ok(spec) } else { malformed("a type has no way into it") };
        }
        let way = parse_access(access)?;
        let id = btf.skip_modifiers(root);
        if ask.subject() == Subject::Enum {
            return spec.enumerator(btf, id, &way);
        }
        spec.steps.push(Step { ty: id, index: way[0], named: false });
        spec.bit_offset = element_bits(btf, id, way[0])?;
        let mut id = id;
        for &index in &way[1..] {
            id = spec.step(btf, id, index)?;
        }
        Ok(spec)
    }

    fn enumerator(mut self, btf: &Btf, id: TypeId, way: &[u32]) -> Result<Spec, CoreError> {
        match btf.kind(id) {
            Kind::Enum(e) if way.len() == 1 && (way[0] as usize) < e.values.len() => {
                self.steps.push(Step { ty: id, index: way[0], named: true });
                Ok(self)
            }
            _ => malformed("it names no value of an enum"),
        }
    }

    fn step(&mut self, btf: &Btf, id: TypeId, index: u32) -> Result<TypeId, CoreError> {
        let id = btf.skip_modifiers(id);
        match btf.kind(id) {
            Kind::Struct(s) | Kind::Union(s) => {
                let Some(member) = s.members.get(index as usize) else {
                    return malformed("it names a member that isn't there");
                };
                self.bit_offset += u64::from(member.bit_offset);
                if !btf.member_name(member).is_empty() {
                    self.steps.push(Step { ty: id, index, named: true });
                }
                Ok(member.ty)
            }
            Kind::Array(array) => {
                if !is_flexible(btf, self.steps.last(), array) && index >= array.count {
                    return malformed("it names an element beyond the array's end");
                }
                let element = btf.skip_modifiers(array.element);
                self.steps.push(Step { ty: element, index, named: false });
                self.bit_offset += element_bits(btf, element, index)?;
                Ok(element)
            }
            _ => malformed("it goes into a type that has no members"),
        }
    }
}

fn parse_access(access: &str) -> Result<Vec<u32>, CoreError> {
    let way: Option<Vec<u32>> = access.split(':').take(MAX_STEPS + 1).map(|part| part.parse().ok()).collect();
    match way {
        Some(way) if way.len() <= MAX_STEPS => Ok(way),
        _ => malformed("its access string is unreadable or too long"),
    }
}

/// Returns the offset of an array's element, in bits. It is small enough that a whole path cannot overflow.
pub(super) fn element_bits(btf: &Btf, element: TypeId, index: u32) -> Result<u64, CoreError> {
    let Some(size) = btf.size_of(element) else { return malformed("an element has no size") };
    match u64::from(index) * u64::from(size) {
        bytes if bytes <= u64::from(u32::MAX) => Ok(bytes * 8),
        _ => malformed("an element lies too far from its array's start"),
    }
}

/// Returns whether it is an array without a length at the end of a struct.
pub(super) fn is_flexible(btf: &Btf, holder: Option<&Step>, array: &Array) -> bool {
    let Some(holder) = holder.filter(|step| step.named && array.count == 0) else { return false };
    btf.members(holder.ty).is_some_and(|s| s.members.len() == holder.index as usize + 1)
}
