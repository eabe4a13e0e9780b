//! BTF, the type information of a kernel or an object. It is parsed in full once, and then only read.
//!
//! All references between types are checked during parsing, so readers may follow ids freely. Code that follows types
//! must bound cycles and depth (see [`layout`](self)).

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

/// The maximum number of modifiers, pointers or nested members that are followed (the kernel's own limit).
pub(crate) const MAX_DEPTH: usize = 32;

/// The types of a kernel or of an object.
#[derive(Clone, Debug, Default)]
pub struct Btf {
    strings: Strings,
    /// By id; id 0 is `void`.
    types: Vec<Type>,
    /// Named types, by (essential name, id).
    by_name: Vec<TypeId>,
    /// Declaration tags, by (tagged type, id).
    tags: Vec<(TypeId, TypeId)>,
    /// Enumerators of all enums, by (name, id).
    enumerators: Vec<(u32, u64)>,
}

static VOID: Type = Type { name: 0, kind: Kind::Void };

impl Btf {
    /// Returns the number of types, including `void`.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns whether there are no types except `void`.
    pub fn is_empty(&self) -> bool {
        self.types.len() <= 1
    }

    /// Returns a type, or `void` for an id that doesn't exist.
    pub fn ty(&self, id: TypeId) -> &Type {
        self.types.get(id.0 as usize).unwrap_or(&VOID)
    }

    /// Returns a type's kind.
    pub fn kind(&self, id: TypeId) -> &Kind {
        &self.ty(id).kind
    }

    /// Returns a type's name, which is empty if it has none.
    pub fn name(&self, id: TypeId) -> &str {
        self.str_or_empty(self.ty(id).name)
    }

    /// Returns all types with their ids, `void` first.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().enumerate().map(|(index, ty)| (TypeId(index as u32), ty))
    }

    /// Returns the string at an offset of the string section.
    ///
    /// # Errors
    /// [`BtfError::String`] if it is outside the section, unterminated, too long or not UTF-8.
    pub fn string(&self, offset: u32) -> Result<&str, BtfError> {
        self.strings.get(offset)
    }

    /// Returns the string at an offset, with anything that isn't UTF-8 replaced. Used for source lines.
    pub fn string_lossy(&self, offset: u32) -> String {
        self.strings.lossy(offset)
    }

    /// Returns a string that parsing has already checked.
    pub(crate) fn str_or_empty(&self, offset: u32) -> &str {
        self.strings.get(offset).unwrap_or("")
    }
}

#[cfg(test)]
mod tests;
