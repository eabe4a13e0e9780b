//! Why an object cannot be loaded.

use crate::maps::MapError;
use crate::memory::WorldError;

/// Why an object cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// An instruction that no kernel would accept.
    #[error("function `{function}`, instruction {insn}: {why}")]
    BadInstruction {
        /// The function's name.
        function: String,
        /// The instruction slot within it.
        insn: u32,
        /// What is wrong with it.
        why: String,
    },
    /// A part of the object refers to something that the object does not have.
    #[error("{0}")]
    BadObject(String),
    /// The object needs something that is not simulated.
    #[error("function `{function}` needs {what}, which is not supported")]
    Unsupported {
        /// What is missing: a helper, a kfunc, a kernel variable, an instruction, a map type.
        what: String,
        /// The function that uses it, or the map.
        function: String,
    },
    /// Its maps are invalid or not supported, or the host lacks address space.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The stacks do not fit into simulated memory.
    #[error("the object does not fit into simulated memory: {0}")]
    NoRoom(String),
    /// There is no native code for this processor or operating system.
    #[error("native code cannot be generated on this machine ({0}); use the interpreter")]
    NoNative(String),
    /// The code generator refused a function; that is an internal error.
    #[error("function `{function}` could not be translated to native code: {why}")]
    Translation {
        /// The function's name.
        function: String,
        /// The code generator's message.
        why: String,
    },
}

impl LoadError {
    /// Returns whether the object is well-formed, but needs something that is not simulated.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. } | Self::World(WorldError::Map(MapError::Unsupported { .. })))
    }
}
