//! BTF, the type information of a kernel or an object: parsed in full once, then only read.
//!
//! Every reference between types is checked while parsing, so that readers may follow ids freely. Code that follows
//! types bounds cycles and depth (see [`layout`](self)).

mod error;
mod kptrs;
mod layout;
mod lookup;
mod names;
mod parse;
mod section;
mod types;

pub use error::BtfError;
pub use layout::{Bits, Field};
pub use lookup::{FunctionType, Prototype};
pub use names::essential_name;
pub use section::btf_section;
pub use types::{Array, Enum, Enumerator, Int, Kind, Member, Param, SecVar, Struct, Type, TypeId};

use names::Strings;

/// How many modifiers, pointers or nested members are followed at most (the kernel's own limit).
pub(crate) const MAX_DEPTH: usize = 32;

/// The types of a kernel or of an object.
#[derive(Clone, Debug, Default)]
pub struct Btf {
    strings: Strings,
    /// By id; id 0 is `void`.
    types: Vec<Type>,
    /// Named types, by (essential name, id).
    by_name: Vec<TypeId>,
    /// Declaration tags, by (what they tag, id).
    tags: Vec<(TypeId, TypeId)>,
    /// Enumerators of all enums, by (name, id).
    enumerators: Vec<(u32, u64)>,
}

static VOID: Type = Type { name: 0, kind: Kind::Void };

impl Btf {
    /// How many types there are, `void` included.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Is there no type but `void`?
    pub fn is_empty(&self) -> bool {
        self.types.len() <= 1
    }

    /// A type; `void` for an id that isn't there.
    pub fn ty(&self, id: TypeId) -> &Type {
        self.types.get(id.0 as usize).unwrap_or(&VOID)
    }

    /// What kind of type it is.
    pub fn kind(&self, id: TypeId) -> &Kind {
        &self.ty(id).kind
    }

    /// A type's name; empty where it has none.
    pub fn name(&self, id: TypeId) -> &str {
        self.str_or_empty(self.ty(id).name)
    }

    /// All types with their ids, `void` first.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().enumerate().map(|(index, ty)| (TypeId(index as u32), ty))
    }

    /// The string at an offset of the string section.
    ///
    /// # Errors
    /// [`BtfError::String`] outside the section, without an end, too long or not UTF-8.
    pub fn string(&self, offset: u32) -> Result<&str, BtfError> {
        self.strings.get(offset)
    }

    /// The string at an offset, with anything that isn't UTF-8 replaced; for source lines.
    pub fn string_lossy(&self, offset: u32) -> String {
        self.strings.lossy(offset)
    }

    /// A string that parsing has checked already.
    pub(crate) fn str_or_empty(&self, offset: u32) -> &str {
        self.strings.get(offset).unwrap_or("")
    }
}

#[cfg(test)]
mod tests;
