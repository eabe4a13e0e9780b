//! Errors in BTF.

/// Why bytes are not valid BTF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// The bytes end too early.
    #[error("the BTF ends within {what}, at byte {offset}")]
    Truncated {
        /// What they end within.
        what: &'static str,
        /// The offset in bytes, from the start of the type section, or for the header from the start of the BTF.
        offset: usize,
    },
    /// The first two bytes are not BTF's magic number.
    #[error("the BTF starts with {0:#06x} instead of {magic:#06x}", magic = super::parse::MAGIC)]
    Magic(u16),
    /// The BTF is big-endian.
    #[error("the BTF is big-endian; only little-endian BTF is read")]
    BigEndian,
    /// The version is unknown.
    #[error("the BTF has version {0}; only version 1 is known")]
    Version(u8),
    /// A section extends beyond the bytes.
    #[error("the BTF's {what} section lies outside its {size} bytes")]
    Bounds {
        /// The section.
        what: &'static str,
        /// The number of bytes.
        size: usize,
    },
    /// A string cannot be read.
    #[error("the BTF has no readable string at offset {0}")]
    String(u32),
    /// A type is of an unknown kind.
    #[error("BTF type {id} is of the unknown kind {kind}")]
    Kind {
        /// The type.
        id: u32,
        /// Its kind.
        kind: u32,
    },
    /// A type refers to one that doesn't exist.
    #[error("BTF type {id} refers to type {target}, which isn't there")]
    Reference {
        /// The type.
        id: u32,
        /// What it refers to.
        target: u32,
    },
    /// There are more types than a kernel accepts.
    #[error("the BTF has more than {0} types")]
    TooMany(usize),
    /// The ELF file has no BTF.
    #[error("the ELF file has no .BTF section; compile it with -g")]
    NoSection,
    /// It is not a readable ELF file.
    #[error("it is not a readable ELF file: {0}")]
    Elf(String),
}
