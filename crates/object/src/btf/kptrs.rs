//! Finds the pointers to kernel objects in a value (`btf_find_field()`).

use super::{Btf, Kind, TypeId};

/// The tags of such pointers.
const TAGS: [&str; 3] = ["kptr", "kptr_untrusted", "percpu_kptr"];
/// The maximum number of special fields in a value (`BTF_FIELDS_MAX`). No more members are examined.
const MOST: usize = 11;
const MOST_MEMBERS: usize = 10_000;

impl Btf {
    /// Returns the offsets of a type's pointers to kernel objects in ascending order, including those in arrays and
    /// nested structs.
    pub fn kptr_offsets(&self, ty: TypeId) -> Vec<u32> {
        let (mut found, mut left) = (Vec::new(), vec![(ty, 0_u32)]);
        let mut members = 0;
        while let Some((ty, at)) = left.pop() {
            let ty = self.skip_modifiers(ty);
            match self.kind(ty) {
                Kind::Ptr(to) if self.is_kptr(*to) => found.push(at),
                Kind::Array(array) => {
                    let size = self.size_of(array.element).unwrap_or(0);
                    let places = (0..array.count).take(MOST);
                    left.extend(places.map(|n| (array.element, at.saturating_add(n.saturating_mul(size)))));
                }
                Kind::Struct(definition) => {
                    let own = definition.members.iter();
                    left.extend(own.map(|member| (member.ty, at.saturating_add(member.bit_offset / 8))));
                    members += definition.members.len();
                }
                _ => {}
            }
            // Untrusted types may contain themselves.
            if found.len() >= MOST || members > MOST_MEMBERS || left.len() > MOST_MEMBERS {
                break;
            }
        }
        found.sort_unstable();
        found
    }

    fn is_kptr(&self, to: TypeId) -> bool {
        matches!(self.kind(to), Kind::TypeTag(_)) && TAGS.contains(&self.name(to))
    }
}
