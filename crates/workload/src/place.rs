//! A value's position in the file: its byte, and the keys that lead to it.

use crate::error::shown;
use std::fmt;

/// A value's place. Written as `tasks.thread0.policy`.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    up: Option<&'a Place<'a>>,
    key: &'a str,
    /// The byte of the text where its key or, in arrays, its value begins.
    pub(crate) start: usize,
}

impl<'a> Place<'a> {
    /// The whole file.
    pub(crate) const fn root() -> Place<'static> {
        Place { up: None, key: "", start: 0 }
    }

    /// What `key`, which begins at `start`, holds.
    pub(crate) fn child<'b>(&'b self, key: &'b str, start: usize) -> Place<'b>
    where
        'a: 'b,
    {
        Place { up: Some(self), key, start }
    }

    /// The same keys, at another byte.
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
