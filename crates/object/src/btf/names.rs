//! BTF's strings, and the essential part of a name.

use super::BtfError;

/// Names are truncated here, so that a hostile string section costs no more than its bytes.
const MAX_NAME: usize = 1024;

/// The string section.
#[derive(Clone, Debug)]
pub(super) enum Strings {
    /// Names are asked for often, and need no decoding then.
    Ascii(String),
    Others(Vec<u8>),
}

impl Default for Strings {
    fn default() -> Self {
        Self::Ascii(String::new())
    }
}

impl Strings {
    pub(super) fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => Self::Ascii(text.to_owned()),
            _ => Self::Others(bytes.to_vec()),
        }
    }

    fn bytes(&self, offset: u32) -> Option<&[u8]> {
        let all = match self {
            Self::Ascii(text) => text.as_bytes(),
            Self::Others(bytes) => bytes,
        };
        let rest = all.get(offset as usize..)?;
        let rest = &rest[..rest.len().min(MAX_NAME)];
        std::ffi::CStr::from_bytes_until_nul(rest).ok().map(std::ffi::CStr::to_bytes)
    }

    pub(super) fn get(&self, offset: u32) -> Result<&str, BtfError> {
        if offset == 0 {
            return Ok("");
        }
        let bytes = self.bytes(offset).ok_or(BtfError::String(offset))?;
        let text = match self {
            Self::Ascii(text) => text.get(offset as usize..offset as usize + bytes.len()),
            Self::Others(_) => std::str::from_utf8(bytes).ok(),
        };
        // Names are printed in messages, so they must not contain line breaks or terminal escapes.
        text.filter(|text| !has_control(text)).ok_or(BtfError::String(offset))
    }

    pub(super) fn lossy(&self, offset: u32) -> String {
        String::from_utf8_lossy(self.bytes(offset).unwrap_or_default()).into_owned()
    }
}

/// Most names are plain ASCII, which needs no decoding.
fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| !matches!(byte, b' '..=b'~')) && text.contains(char::is_control)
}

/// Returns a name without its flavour: `task_struct` for `task_struct___old`, as in libbpf's CO-RE.
///
/// The flavour begins at the last `___` that has something other than an underscore on both sides.
pub fn essential_name(name: &str) -> &str {
    let bytes = name.as_bytes();
    for end in (1..bytes.len().saturating_sub(3)).rev() {
        let separator = &bytes[end..end + 3] == b"___";
        if separator && bytes[end - 1] != b'_' && bytes[end + 3] != b'_' {
            return &name[..end];
        }
    }
    name
}
