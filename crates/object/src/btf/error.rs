//! What can be wrong with BTF.

/// Why bytes are no BTF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// Bytes end within something.
    #[error("the BTF ends within {what}, at byte {offset}")]
    Truncated {
        /// Within what.
        what: &'static str,
        /// Bytes from the start of the type section, or of the whole for the header.
        offset: usize,
    },
    /// The first two bytes are not BTF's.
    #[error("the BTF starts with {0:#06x} instead of {magic:#06x}", magic = super::parse::MAGIC)]
    Magic(u16),
    /// Big-endian BTF.
    #[error("the BTF is big-endian; only little-endian BTF is read")]
    BigEndian,
    /// A version that isn't known.
    #[error("the BTF has version {0}; only version 1 is known")]
    Version(u8),
    /// Sections that lie outside the bytes.
    #[error("the BTF's {what} section lies outside its {size} bytes")]
    Bounds {
        /// Which section.
        what: &'static str,
        /// Bytes that there are.
        size: usize,
    },
    /// A string that cannot be read.
    #[error("the BTF has no readable string at offset {0}")]
    String(u32),
    /// A kind that isn't known.
    #[error("BTF type {id} is of the unknown kind {kind}")]
    Kind {
        /// Which type.
        id: u32,
        /// Its kind.
        kind: u32,
    },
    /// A reference to a type that isn't there.
    #[error("BTF type {id} refers to type {target}, which isn't there")]
    Reference {
        /// Which type.
        id: u32,
        /// What it refers to.
        target: u32,
    },
    /// More types than a kernel would take.
    #[error("the BTF has more than {0} types")]
    TooMany(usize),
    /// No BTF in an ELF file.
    #[error("the ELF file has no .BTF section; compile it with -g")]
    NoSection,
    /// No ELF file.
    #[error("it is not a readable ELF file: {0}")]
    Elf(String),
}
