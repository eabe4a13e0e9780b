//! Boots until every object had its turn.
//!
//! An emulated guest hangs or dies now and then while the kernel takes a failed scheduler down.
//! It is booted anew for the objects that are left. Where one object's turn ends so three times
//! running, that is the object's fault, and its turn is over.

use super::Stop;
use super::guest::{self, Found};
use super::objects::BpfObject;
use super::qemu::last_words;
use std::collections::BTreeMap;

/// Turns of an object that may end with the guest's end.
const TURNS: u32 = 3;

/// What guests found, by object; one at which every guest ended is left out. `boot` runs the
/// objects one after the other in one guest and returns what it said.
pub(super) fn find(
    objects: &[BpfObject],
    boot: impl Fn(&[BpfObject]) -> Result<String, Stop>,
) -> Result<BTreeMap<String, Found>, Stop> {
    let mut found = BTreeMap::new();
    let mut left = objects;
    let mut turns = 0;
    while !left.is_empty() {
        let log = boot(left)?;
        let mut told = guest::read(&log);
        let done = left.iter().take_while(|object| told.contains_key(&object.name)).count();
        found.append(&mut told);
        turns = if done == 0 { turns + 1 } else { 1 };
        left = &left[done..];
        let Some(at) = left.first() else { break };
        println!("  the guest ended at {}; its last output: {}", at.name, last_words(&log));
        if turns == TURNS {
            if !log.contains(guest::BEGUN) {
                return Err(Stop::Failed(format!(
                    "the guest does not boot; its last output: {}",
                    last_words(&log)
                )));
            }
            left = &left[1..];
            turns = 0;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Boots guests that end at `bad` until it has had `times` turns; gives what was found and how
    /// many boots it took.
    fn check(bad: &str, times: u32, expected: (&[&str], u32)) {
        let objects = ["a", "b", "c"].map(|name| BpfObject {
            name: name.to_owned(),
            bytes: Vec::new(),
            cases: Vec::new(),
        });
        let (boots, ended) = (Cell::new(0), Cell::new(0));
        let boot = |left: &[BpfObject]| {
            boots.set(boots.get() + 1);
            let mut log = "@@ begun\n".to_owned();
            for object in left {
                if object.name == bad && ended.get() < times {
                    ended.set(ended.get() + 1);
                    return Ok(log + "Kernel panic\n");
                }
                log += &format!("@@ object {0}\n@@ end {0}\n", object.name);
            }
            Ok(log)
        };
        let found = find(&objects, boot).unwrap();
        assert_eq!((found.keys().map(String::as_str).collect::<Vec<_>>(), boots.get()), {
            (expected.0.to_vec(), expected.1)
        });
    }

    #[test]
    fn a_guest_that_ends_is_booted_anew_for_what_is_left() {
        check("", 0, (&["a", "b", "c"], 1));
        check("b", 1, (&["a", "b", "c"], 2));
        check("a", 2, (&["a", "b", "c"], 3));
        check("b", 3, (&["a", "c"], 4));
        check("c", 9, (&["a", "b"], 3));
    }
}
