//! CO-RE: adapts the object's accesses to its own types to the kernel's types.
//!
//! A relocation names a type of the object and a path into it (`0:3:1`: element 0, its member 3, and that member's
//! member 1) and asks for an offset, a size, whether it exists, and so on. The same names are looked up in every kernel
//! type of the same name, and all that match must agree. The rules and their corner cases are libbpf's (`relo_core.c`).

mod apply;
mod compat;
mod find;
mod kinds;
mod matches;
mod missing;
mod patch;
mod spec;
mod value;

pub(crate) use apply::apply;
pub(crate) use compat::{Pair, compatible};
pub(crate) use patch::POISON;

use crate::budget::Exhausted;

/// Why a relocation itself is wrong. If the kernel merely lacks something, that is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CoreError {
    /// It contradicts itself or its instruction.
    Malformed(String),
    /// Its types take too long to compare.
    TooComplex,
}

impl From<Exhausted> for CoreError {
    fn from(_: Exhausted) -> CoreError {
        CoreError::TooComplex
    }
}

fn malformed<T>(why: &str) -> Result<T, CoreError> {
    Err(CoreError::Malformed(why.to_owned()))
}

#[cfg(test)]
mod tests;
