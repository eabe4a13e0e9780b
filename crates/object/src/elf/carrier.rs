//! Finds the BPF object within a binary: Rust schedulers contain theirs in the section `.bpf.objs`.

use super::EM_BPF;
use super::read::Headers;
use crate::ObjectError;

/// The padding between two objects in one section is less than this many bytes.
const MAX_PADDING: usize = 64;
/// The maximum number of objects that are examined.
const MAX_OBJECTS: usize = 64;

/// Returns the object's bytes: the file itself, or the object within it.
///
/// If it contains several objects, the first with a struct_ops variable is taken, or else the first.
///
/// # Errors
/// [`ObjectError`] if it is not an ELF file, or is one for another machine and contains no object.
pub(crate) fn bpf_object(bytes: &[u8]) -> Result<&[u8], ObjectError> {
    let headers = Headers::parse(bytes)?;
    if headers.machine == EM_BPF {
        return Ok(bytes);
    }
    let carried = headers.named().find(|(name, _)| *name == ".bpf.objs").map(|(_, header)| header);
    let carried = carried.ok_or(ObjectError::Machine(headers.machine))?;
    let carried = headers.data(carried)?;
    let mut first = None;
    let mut rest = carried;
    for _ in 0..MAX_OBJECTS {
        let Some(start) = next_start(rest) else { break };
        let candidate = &rest[start..];
        let Ok(headers) = Headers::parse(candidate) else { break };
        if headers.named().any(|(name, _)| name == ".struct_ops" || name == ".struct_ops.link") {
            return Ok(candidate);
        }
        first = first.or(Some(candidate));
        let Some(next) = candidate.get(extent(candidate)..) else { break };
        rest = next;
    }
    first.ok_or(ObjectError::Section { section: ".bpf.objs".to_owned(), why: "it holds no ELF file" })
}

fn next_start(bytes: &[u8]) -> Option<usize> {
    let window = &bytes[..bytes.len().min(MAX_PADDING + 4)];
    window.windows(4).position(|word| word == b"\x7fELF")
}

/// Returns the number of bytes up to the end of the section headers, which compilers and linkers write last.
fn extent(elf: &[u8]) -> usize {
    let word =
        |at: usize| elf.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or([0; 8])));
    let headers = word(0x28);
    let count = word(0x38) >> 32 & 0xffff;
    // Skip at least the file header, so that every step makes progress.
    let end = headers.saturating_add(count * 64).max(64);
    usize::try_from(end).unwrap_or(usize::MAX)
}
