//! Finds the `.BTF` section of an ELF file.

use object::{Object as _, ObjectSection as _};

use super::BtfError;

/// Returns the bytes of an ELF file's `.BTF` section.
///
/// # Errors
/// [`BtfError::Elf`] or [`BtfError::NoSection`].
pub fn btf_section(elf: &[u8]) -> Result<Vec<u8>, BtfError> {
    let file = object::File::parse(elf).map_err(|error| BtfError::Elf(error.to_string()))?;
    let section = file.section_by_name(".BTF").ok_or(BtfError::NoSection)?;
    let bytes = section.data().map_err(|error| BtfError::Elf(error.to_string()))?;
    Ok(bytes.to_vec())
}
