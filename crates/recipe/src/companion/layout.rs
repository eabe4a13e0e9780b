//! The layout of the data in a map: integers as C lays them out.

/// The maximum number of fields in a record.
const MOST_FIELDS: usize = 256;

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Its offset in the record.
    at: usize,
    bytes: usize,
    signed: bool,
}

/// The layout of one map's records. A record is a key, if the map has one, followed by a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The map.
    pub map: String,
    /// The size of the key in bytes; 0 if there is no key.
    pub key_bytes: usize,
    /// The size of the value in bytes.
    pub value_bytes: usize,
    fields: Vec<Field>,
}

/// Why a field is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// It has the wrong form.
    #[error(
        "a field is written like \"u64 runtime\", with u8, u16, u32, u64, s8, s16, s32 or s64; not {0:?}"
    )]
    Field(String),
    /// There are too many fields.
    #[error("it has more than {MOST_FIELDS} fields")]
    TooMany,
    /// Two fields have the same name.
    #[error("it has two fields {0}")]
    Twice(String),
}

impl Layout {
    /// Lays out fields, each at a multiple of its size. The total size is rounded up to a multiple of the largest.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn new(map: &str, key: &[String], value: &[String]) -> Result<Self, LayoutError> {
        let mut layout = Self { map: map.to_owned(), ..Self::default() };
        layout.key_bytes = layout.part(0, key)?;
        layout.value_bytes = layout.part(layout.key_bytes, value)?;
        Ok(layout)
    }

    fn part(&mut self, base: usize, fields: &[String]) -> Result<usize, LayoutError> {
        if fields.len() + self.fields.len() > MOST_FIELDS {
            return Err(LayoutError::TooMany);
        }
        let (mut at, mut most) = (0usize, 1);
        for text in fields {
            let wrong = || LayoutError::Field(text.clone());
            let (kind, name) = text.trim().split_once(char::is_whitespace).ok_or_else(wrong)?;
            let name = name.trim();
            let (signed, bytes) = kind_of(kind).filter(|_| super::tokens::is_name(name)).ok_or_else(wrong)?;
            if self.fields.iter().any(|field| field.name == name) {
                return Err(LayoutError::Twice(name.to_owned()));
            }
            at = at.next_multiple_of(bytes);
            most = most.max(bytes);
            self.fields.push(Field { name: name.to_owned(), at: base + at, bytes, signed });
            at += bytes;
        }
        Ok(at.next_multiple_of(most))
    }

    /// Returns the size of a record in bytes.
    pub fn bytes(&self) -> usize {
        self.key_bytes + self.value_bytes
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    pub(crate) fn read(&self, record: &[u8], field: usize) -> i64 {
        let Field { at, bytes, signed, .. } = self.fields[field];
        read(&record[at..at + bytes], signed)
    }

    pub(crate) fn write(&self, record: &mut [u8], field: usize, value: i64) {
        let Field { at, bytes, .. } = self.fields[field];
        record[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

/// Reads an integer of at most 8 bytes.
pub(crate) fn read(bytes: &[u8], signed: bool) -> i64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let (value, unused) = (u64::from_le_bytes(word), 64 - 8 * bytes.len() as u32);
    if signed { (value << unused) as i64 >> unused } else { value as i64 }
}

fn kind_of(kind: &str) -> Option<(bool, usize)> {
    let (signed, bits) =
        kind.strip_prefix('s').map(|bits| (true, bits)).or(kind.strip_prefix('u').map(|b| (false, b)))?;
    let bytes = match bits {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        _ => return None,
    };
    Some((signed, bytes))
}
