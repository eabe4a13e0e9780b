//! Reads an event's description, as the kernel prints it in `events/SYSTEM/EVENT/format`.
//!
//! ```text
//! name: sched_waking
//! ID: 318
//! format:
//!         field:unsigned short common_type;  offset:0;  size:2;  signed:0;
//!         field:char comm[16];               offset:8;  size:16; signed:0;
//! print fmt: "comm=%s ...", REC->comm, ...
//! ```

use super::field::{Field, Place};

/// The maximum number of fields.
const MOST_FIELDS: usize = 256;

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) name: String,
    pub(crate) id: u32,
    pub(crate) fields: Vec<(String, Field)>,
    /// How it is printed.
    pub(crate) print: String,
}

impl Description {
    /// Reads a description. Returns `None` if it has no name or no number.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut event = Self::default();
        let mut id = None;
        for line in text.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("name:") {
                event.name = name.trim().to_owned();
            } else if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            } else if let Some(print) = line.strip_prefix("print fmt:") {
                event.print = print.trim().to_owned();
            } else if let Some(field) = line.strip_prefix("field").and_then(field)
                && event.fields.len() < MOST_FIELDS
            {
                event.fields.push(field);
            }
        }
        event.id = id?;
        (!event.name.is_empty()).then_some(event)
    }

    /// Returns a field by its name.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(of, _)| of == name).map(|(_, field)| *field)
    }
}

/// Reads `:TYPE NAME[N]; offset:N; size:N; signed:N;`, which follows `field` or `field special`.
fn field(line: &str) -> Option<(String, Field)> {
    let (_, line) = line.split_once(':')?;
    let mut parts = line.split(';').map(str::trim);
    let declared = parts.next()?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok().filter(|&offset: &usize| offset < 1 << 16),
            Some(("size", value)) => size = value.parse().ok().filter(|&size: &usize| size < 1 << 16),
            Some(("signed", value)) => signed = value == "1",
            _ => {}
        }
    }
    let place = match declared.split_whitespace().next() {
        Some("__data_loc") => Place::Elsewhere,
        Some("__rel_loc") => Place::Behind,
        _ => Place::Here,
    };
    let name = declared.rsplit(|c: char| c.is_whitespace() || c == '*').find(|word| !word.is_empty())?;
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    Some((name.to_owned(), Field { offset: offset?, size: size?, signed, place }))
}
