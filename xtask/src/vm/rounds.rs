//! Boots guests until every object has had its turn.
//!
//! An emulated guest sometimes hangs or dies while the kernel shuts down a failed scheduler. It is then booted again
//! for the remaining objects. If one object's turn ends so three times in a row, the object is at fault, and its turn
//! is over.

use super::Stop;
use super::guest::{self, Found};
use super::objects::BpfObject;
use super::outcome::Outcome;
use super::qemu::last_words;
use std::collections::BTreeMap;
use std::slice::from_ref;

/// The maximum number of an object's turns that may end with the guest's end.
const TURNS: u32 = 3;

/// The guests' reports, by object. An object at which every guest ended is left out. `boot` runs the objects one after
/// another in one guest and returns its output.
pub(super) fn find(
    objects: &[BpfObject],
    boot: impl Fn(&[BpfObject]) -> Result<String, Stop>,
) -> Result<BTreeMap<String, Found>, Stop> {
    let mut found = BTreeMap::new();
    let mut left = objects;
    let mut turns = 0;
    while !left.is_empty() {
        let log = boot(left)?;
        let mut reported = guest::read(&log);
        let done = left.iter().take_while(|object| reported.contains_key(&object.name)).count();
        found.append(&mut reported);
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

/// How many guests of its own an object gets after a kernel watchdog fired under it.
const RETRIES: u32 = 2;

/// Judges an object by its turn. If one of the kernel's own watchdogs fired, guests with this object alone decide: a
/// lockup that the object causes occurs again there, one that the emulator causes does not.
pub(super) fn judge(
    object: &BpfObject,
    found: Option<&Found>,
    of: impl Fn(Option<&Found>) -> Outcome,
    boot: impl Fn(&[BpfObject]) -> Result<String, Stop>,
) -> Result<Outcome, Stop> {
    let mut outcome = of(found);
    let Some(fault) = outcome.fault.clone().filter(|fault| is_watchdog(fault)) else { return Ok(outcome) };
    println!("  {}: {fault}; {RETRIES} guests of its own decide", object.name);
    for _ in 0..RETRIES {
        outcome = of(find(from_ref(object), &boot)?.get(&object.name));
        if outcome.fault.is_some() {
            break;
        }
    }
    Ok(outcome)
}

/// Whether the kernel saw a CPU stand still. This excludes a scheduler's own watchdog, which reports a waiting task.
fn is_watchdog(fault: &str) -> bool {
    ["soft lockup", "hard LOCKUP", "detected stalls", "self-detected stall"].iter().any(|w| fault.contains(w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Boots guests that end at `bad` until it has had `times` turns. Returns the reports and the number of boots.
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

    /// Judges an object whose first turn, and whose turns in guests of its own, end with these faults. Returns the
    /// remaining fault and the number of boots.
    fn check_judge(faults: &[Option<&str>], expected: (Option<&str>, usize)) {
        let object = BpfObject { name: "a".to_owned(), bytes: Vec::new(), cases: Vec::new() };
        let turns = Cell::new(0);
        let of = |_: Option<&Found>| {
            let fault = faults[turns.replace(turns.get() + 1)];
            Outcome::with_fault("7.2", "a", fault)
        };
        let boots = Cell::new(0);
        let boot = |_: &[BpfObject]| {
            boots.set(boots.get() + 1);
            Ok("@@ begun\n@@ object a\n@@ end a\n".to_owned())
        };
        let outcome = judge(&object, None, of, boot).unwrap();
        assert_eq!((outcome.fault.as_deref(), boots.get()), expected, "{faults:?}");
    }

    #[test]
    fn a_lockup_counts_where_it_comes_back() {
        const LOCKUP: Option<&str> = Some("runtime error: soft lockup - CPU 6 stuck for 15s");
        const STALL: Option<&str> = Some("runnable task stall: sh[9] failed to run for 30s");
        check_judge(&[None], (None, 0));
        check_judge(&[STALL], (STALL, 0));
        check_judge(&[LOCKUP, None, None], (None, 2));
        check_judge(&[LOCKUP, LOCKUP], (LOCKUP, 1));
        check_judge(&[LOCKUP, None, STALL], (STALL, 2));
    }

    #[test]
    fn a_guest_that_ends_is_rebooted_for_the_rest() {
        check("", 0, (&["a", "b", "c"], 1));
        check("b", 1, (&["a", "b", "c"], 2));
        check("a", 2, (&["a", "b", "c"], 3));
        check("b", 3, (&["a", "c"], 4));
        check("c", 9, (&["a", "b"], 3));
    }
}
