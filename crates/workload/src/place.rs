//! A value's position in the file: its offset, and the keys that lead to it.

use crate::error::shown;
use std::fmt;

/// A value's place. Displayed as `tasks.thread0.policy`.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    up: Option<&'a Place<'a>>,
    key: &'a str,
    /// The offset in the text, in bytes, at which its key begins, or in arrays its value.
    pub(crate) start: usize,
}

impl<'a> Place<'a> {
    /// Returns the place of the whole file.
    pub(crate) const fn root() -> Place<'static> {
        Place { up: None, key: "", start: 0 }
    }

    /// Returns the place of the value of `key`, which begins at `start`.
    pub(crate) fn child<'b>(&'b self, key: &'b str, start: usize) -> Place<'b>
    where
        'a: 'b,
    {
        Place { up: Some(self), key, start }
    }

    /// Returns the place with the same keys at another offset.
    pub(crate) fn at(self, start: usize) -> Self {
        Self { start, ..self }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(up) = self.up {
            write!(f, "{up}")?;
            if up.up.is_some() {
                f.write_str(".")?;
            }
        }
        f.write_str(&shown(self.key))
    }
}
