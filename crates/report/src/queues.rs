//! Names a scheduler's own DSQs: in sentences, the name is added after the DSQ's id.

use keel_abi::{DsqId, Instant};
use keel_check::escape;
use keel_trace::{Class, Event, Meta, Sink};
use std::collections::BTreeMap;

/// The maximum number of names. Further DSQs have only their ids.
const MOST: usize = 4096;
/// The text before a DSQ's id, in our sentences and in the kernel's.
const BEFORE: [&str; 3] = ["queue 0x", "DSQ 0x", "DSQ ID 0x"];

/// Names by id, as recorded in the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueNames(BTreeMap<u64, String>);

impl QueueNames {
    /// Sets a DSQ's name, which is untrusted text.
    pub fn name(&mut self, id: DsqId, name: &str) {
        if self.0.len() < MOST && !name.is_empty() {
            self.0.entry(id.0).or_insert_with(|| name.to_owned());
        }
    }

    /// Adds the names to a text: `DSQ 0x5` becomes `DSQ 0x5 (SHARED)`.
    pub fn put_into(&self, text: &str) -> String {
        let mut left = text;
        let mut named = String::with_capacity(text.len());
        while let Some((before, digits)) = self.next_number(left) {
            let number = &left[before..before + digits];
            named.push_str(&left[..before + digits]);
            if let Some(name) = u64::from_str_radix(number, 16).ok().and_then(|id| self.0.get(&id)) {
                named.push_str(&format!(" ({})", escape(name)));
            }
            left = &left[before + digits..];
        }
        named + left
    }

    /// Returns where the digits of the first number begin, and how many there are.
    fn next_number(&self, text: &str) -> Option<(usize, usize)> {
        if self.0.is_empty() {
            return None;
        }
        let ends = BEFORE.iter().filter_map(|before| text.find(before).map(|at| at + before.len()));
        let at = ends.min()?;
        let digits = text[at..].bytes().take_while(u8::is_ascii_hexdigit).count();
        Some((at, digits))
    }
}

impl Sink for QueueNames {
    fn wants(&self) -> Class {
        Class::NONE
    }

    fn events(&mut self, _: &[Event]) {}

    fn meta(&mut self, _: Instant, meta: &Meta) {
        if let Meta::Queue { id, name } = meta {
            self.name(*id, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_behind_numbers() {
        let mut names = QueueNames::default();
        names.name(DsqId(5), "SHARED_DSQ");
        names.name(DsqId(0x1f), "node\u{1b}1");
        names.name(DsqId(5), "another");
        let check = |text: &str, expected: &str| assert_eq!(names.put_into(text), expected);
        check("non-existent DSQ 0x5", "non-existent DSQ 0x5 (SHARED_DSQ)");
        check("DSQ ID 0x0000000000000005 already had", "DSQ ID 0x0000000000000005 (SHARED_DSQ) already had");
        check("in the scheduler's queue 0x1f, and", "in the scheduler's queue 0x1f (node\\u{1b}1), and");
        check("queue 0x5, queue 0x6, queue 0x5", "queue 0x5 (SHARED_DSQ), queue 0x6, queue 0x5 (SHARED_DSQ)");
        check("queue 0x", "queue 0x");
        check("queue 0x99999999999999999999", "queue 0x99999999999999999999");
        check("at 0x5", "at 0x5");
        assert_eq!(QueueNames::default().put_into("DSQ 0x5"), "DSQ 0x5");
    }
}
