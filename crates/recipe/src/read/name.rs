//! Names in a recipe. Errors and tables show them, so each has to fit on one line.

use serde::Deserialize;
use std::fmt;
use std::ops::Deref;

/// The maximum size of a name in bytes. A variable's name can be the path to a member.
const MOST: usize = 256;

/// The name of an item in the object, of a queue, or of a companion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Name(String);

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        match name.len() <= MOST && !name.contains(char::is_control) {
            true => Ok(Self(name)),
            false => Err("a name has no control characters, and at most 256 bytes"),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
