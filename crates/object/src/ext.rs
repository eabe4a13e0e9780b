//! Parses `.BTF.ext`: source lines, function types and CO-RE relocations, each by section and instruction.

use crate::ObjectError;
use crate::btf::{Btf, TypeId};

/// Code sections by name.
type Code<'a> = std::collections::BTreeMap<&'a str, usize>;

/// One section's records.
#[derive(Debug)]
pub(crate) struct Records<T> {
    /// The index of the section.
    pub(crate) section: usize,
    /// The records, in the file's order.
    pub(crate) records: Vec<T>,
}

/// A source line's record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineRecord {
    /// The offset from the section's start, in bytes.
    pub(crate) offset: u32,
    pub(crate) file: u32,
    pub(crate) text: u32,
    pub(crate) line: u32,
}

/// A CO-RE relocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreRecord {
    /// The offset from the section's start, in bytes.
    pub(crate) offset: u32,
    pub(crate) ty: TypeId,
    /// The offset of the access string in the object's BTF.
    pub(crate) access: u32,
    pub(crate) kind: u32,
}

/// A function's type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FuncRecord {
    /// The offset from the section's start, in bytes.
    pub(crate) offset: u32,
    pub(crate) ty: TypeId,
}

/// The contents of `.BTF.ext`.
#[derive(Debug, Default)]
pub(crate) struct Ext {
    pub(crate) functions: Vec<Records<FuncRecord>>,
    pub(crate) lines: Vec<Records<LineRecord>>,
    pub(crate) core: Vec<Records<CoreRecord>>,
}

impl Ext {
    /// Parses the section. Skips records of sections that are not code.
    pub(crate) fn parse(bytes: &[u8], btf: &Btf, code: &Code<'_>) -> Result<Ext, ObjectError> {
        if half(bytes, 0)? != 0xeb9f {
            return Err(ObjectError::BtfExt("it doesn't start like one"));
        }
        let header = word(bytes, 4)?;
        let part = |field: usize| -> Result<&[u8], ObjectError> {
            // Old compilers wrote a shorter header, without CO-RE relocations.
            if field + 8 > header as usize {
                return Ok(&[]);
            }
            let start = u64::from(header) + u64::from(word(bytes, field)?);
            let end = start + u64::from(word(bytes, field + 4)?);
            usize::try_from(start)
                .ok()
                .zip(usize::try_from(end).ok())
                .and_then(|(start, end)| bytes.get(start..end))
                .ok_or(ObjectError::BtfExt("a part lies outside it"))
        };
        let functions = records(part(8)?, (btf, code), 8, |r| {
            Ok(FuncRecord { offset: word(r, 0)?, ty: TypeId(word(r, 4)?) })
        })?;
        let lines = records(part(16)?, (btf, code), 16, |r| {
            let (offset, file, text, line) = (word(r, 0)?, word(r, 4)?, word(r, 8)?, word(r, 12)? >> 10);
            Ok(LineRecord { offset, file, text, line })
        })?;
        let core = records(part(24)?, (btf, code), 16, |r| {
            let (offset, ty) = (word(r, 0)?, TypeId(word(r, 4)?));
            Ok(CoreRecord { offset, ty, access: word(r, 8)?, kind: word(r, 12)? })
        })?;
        Ok(Ext { functions, lines, core })
    }
}

/// Reads records of at least `size` bytes each. Later versions may append fields.
fn records<T>(
    bytes: &[u8],
    (btf, code): (&Btf, &Code<'_>),
    size: usize,
    parse: impl Fn(&[u8]) -> Result<T, ObjectError>,
) -> Result<Vec<Records<T>>, ObjectError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let stride = word(bytes, 0)? as usize;
    if stride < size {
        return Err(ObjectError::BtfExt("its records are too short"));
    }
    let mut rest = &bytes[4..];
    let mut sections = Vec::new();
    while !rest.is_empty() {
        let section = code.get(btf.string(word(rest, 0)?)?);
        let count = word(rest, 4)? as usize;
        let bytes = count
            .checked_mul(stride)
            .and_then(|length| rest[8..].get(..length))
            .ok_or(ObjectError::BtfExt("it ends within its records"))?;
        if let Some(&section) = section.filter(|_| count > 0) {
            let mut records = Vec::with_capacity(count);
            for record in bytes.chunks_exact(stride) {
                records.push(parse(record)?);
            }
            sections.push(Records { section, records });
        }
        rest = &rest[8 + bytes.len()..];
    }
    Ok(sections)
}

fn half(bytes: &[u8], at: usize) -> Result<u16, ObjectError> {
    let found = bytes.get(at..at + 2).ok_or(ObjectError::BtfExt("it ends within its header"))?;
    Ok(u16::from_le_bytes([found[0], found[1]]))
}

fn word(bytes: &[u8], at: usize) -> Result<u32, ObjectError> {
    let found = bytes.get(at..at + 4).ok_or(ObjectError::BtfExt("it ends too early"))?;
    Ok(u32::from_le_bytes([found[0], found[1], found[2], found[3]]))
}
