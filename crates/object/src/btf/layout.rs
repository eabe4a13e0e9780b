//! Memory layout: sizes of types, offsets of members.
//!
//! Code that follows types stops after [`MAX_DEPTH`] steps and after a bounded number of members, because untrusted BTF
//! may be circular or branch endlessly.

use super::{Btf, Kind, MAX_DEPTH, Struct, TypeId};

/// The maximum number of members that one search examines.
const MAX_MEMBERS: u32 = 100_000;

/// A member's position within a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The offset from the struct's start, in bytes.
    pub offset: u32,
    /// The size in bytes; for a bit-field, that of its declared type.
    pub size: u32,
    /// Its type, including modifiers.
    pub ty: TypeId,
    /// The position of its bits, if it is a bit-field.
    pub bits: Option<Bits>,
}

/// The bits of a bit-field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The offset from the struct's start, in bits.
    pub offset: u32,
    /// The number of bits.
    pub size: u32,
}

impl Btf {
    /// Returns the type behind typedefs, `const`, `volatile`, `restrict` and type tags.
    pub fn skip_modifiers(&self, mut id: TypeId) -> TypeId {
        for _ in 0..MAX_DEPTH {
            match self.kind(id) {
                Kind::Typedef(to)
                | Kind::Volatile(to)
                | Kind::Const(to)
                | Kind::Restrict(to)
                | Kind::TypeTag(to) => id = *to,
                _ => return id,
            }
        }
        TypeId::VOID
    }

    /// Returns a type's size in bytes, or `None` for `void`, functions and types nested too deeply or too large.
    pub fn size_of(&self, id: TypeId) -> Option<u32> {
        let mut count = 1u32;
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            let size = match self.kind(self.skip_modifiers(id)) {
                Kind::Int(int) => int.size,
                Kind::Ptr(_) => 8,
                Kind::Struct(s) | Kind::Union(s) => s.size,
                Kind::Enum(e) => e.size,
                Kind::Float { size } | Kind::Datasec { size, .. } => *size,
                Kind::Var { ty, .. } => {
                    id = *ty;
                    continue;
                }
                Kind::Array(array) => {
                    count = count.checked_mul(array.count)?;
                    id = array.element;
                    continue;
                }
                _ => return None,
            };
            return count.checked_mul(size);
        }
        None
    }

    /// Returns the members behind a type's modifiers, if it is a struct or a union.
    pub fn members(&self, id: TypeId) -> Option<&Struct> {
        match self.kind(self.skip_modifiers(id)) {
            Kind::Struct(s) | Kind::Union(s) => Some(s),
            _ => None,
        }
    }

    /// Returns the size of the struct, union or typedef of this name, in bytes.
    pub fn struct_size(&self, name: &str) -> Option<u32> {
        self.members(self.find_composite(name)?).map(|s| s.size)
    }

    /// Returns the offset of the member at a dotted path such as `scx.slice`, through anonymous members too.
    pub fn field(&self, name: &str, path: &str) -> Option<Field> {
        self.field_of(self.find_composite(name)?, path)
    }

    /// Like [`Btf::field`], for a type.
    pub fn field_of(&self, id: TypeId, path: &str) -> Option<Field> {
        let mut bit_offset = 0u32;
        let mut id = id;
        let mut bit_size = 0;
        for part in path.split('.') {
            let found = self.find_member(id, part, MAX_DEPTH, &mut { MAX_MEMBERS })?;
            bit_offset = bit_offset.checked_add(found.bit_offset)?;
            (id, bit_size) = (found.ty, found.bit_size);
        }
        let size = self.size_of(id)?;
        let bits = (bit_size > 0).then_some(Bits { offset: bit_offset, size: bit_size });
        Some(Field { offset: bit_offset / 8, size, ty: id, bits })
    }

    /// Returns a member by name, also searching anonymous members. Its offset is from the start of `id`.
    fn find_member(&self, id: TypeId, name: &str, depth: usize, left: &mut u32) -> Option<super::Member> {
        let depth = depth.checked_sub(1)?;
        for member in &self.members(id)?.members {
            *left = left.checked_sub(1)?;
            match self.str_or_empty(member.name) {
                "" => {
                    if let Some(mut found) = self.find_member(member.ty, name, depth, left) {
                        found.bit_offset = found.bit_offset.checked_add(member.bit_offset)?;
                        return Some(found);
                    }
                }
                found if found == name => return Some(*member),
                _ => {}
            }
        }
        None
    }
}
