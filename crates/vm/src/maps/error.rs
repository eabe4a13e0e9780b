//! Why a map cannot be created.

/// Why a map cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Its type is not simulated.
    #[error("map `{map}` is of type {kind}, which is not supported")]
    Unsupported {
        /// The map's name.
        map: String,
        /// `BPF_MAP_TYPE_*`, or its number.
        kind: String,
    },
    /// The kernel would also refuse its definition.
    #[error("map `{map}` is not possible: {why}")]
    Invalid {
        /// The map's name.
        map: String,
        /// What is wrong with the definition.
        why: &'static str,
    },
    /// It is larger than a map may be, or than the remaining simulated memory.
    #[error("map `{map}` needs {bytes} bytes, more than is available")]
    TooLarge {
        /// The map's name.
        map: String,
        /// The bytes that it needs.
        bytes: u64,
    },
    /// Too many maps are added after the first object.
    #[error("map `{map}` exceeds the number of maps that can be added to those of the first object")]
    TooMany {
        /// The map's name.
        map: String,
    },
}
