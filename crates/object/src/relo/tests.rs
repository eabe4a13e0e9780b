//! Tests that types that branch endlessly are rejected quickly.

use std::time::{Duration, Instant};

use super::apply::resolve;
use super::kinds::Ask;
use super::{CoreError, Pair};
use crate::btf::{Btf, TypeId};
use crate::budget::Budget;

/// The number of members of each struct.
const WIDTH: u32 = 4;
/// The number of levels of nested structs.
const DEPTH: u32 = 30;

/// Makes `struct t`, which consists of anonymous members of a struct of anonymous members, and so on, after an `int` as
/// type 1.
fn branching(name: &[u8], members: u32) -> Btf {
    let mut types: Vec<u32> = vec![0, 1 << 24, 4, 1 << 24 | 32];
    for depth in 0..DEPTH {
        // The innermost comes first; the outermost is called t.
        let outermost = depth + 1 == DEPTH;
        types.extend([if outermost { 1 } else { 0 }, 4 << 24 | members, 4]);
        for _ in 0..members {
            types.extend([if depth == 0 { 3 } else { 0 }, depth + 1, 0]);
        }
    }
    let strings = [b"\0t\0", name, b"\0"].concat();
    let types: Vec<u8> = types.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bytes = vec![0x9f, 0xeb, 1, 0, 24, 0, 0, 0];
    for word in [0, types.len(), types.len(), strings.len()] {
        bytes.extend((word as u32).to_le_bytes());
    }
    bytes.extend(types);
    bytes.extend(strings);
    Btf::parse(&bytes).unwrap()
}

fn give_up(local: &Btf, access: &str, ask: Ask) {
    let kernel = branching(b"y", WIDTH);
    let budget = Budget::new();
    let pair = Pair { local, kernel: &kernel, budget: &budget };
    let started = Instant::now();
    assert_eq!(resolve(pair, TypeId(DEPTH + 1), access, ask), Err(CoreError::TooComplex));
    assert!(started.elapsed() < Duration::from_secs(20), "{ask:?} took {:?}", started.elapsed());
}

#[test]
fn branching_types_end() {
    // The path to x leads through all anonymous members of the object's type.
    let way = vec!["0"; DEPTH as usize + 1].join(":");
    give_up(&branching(b"x", 1), &way, Ask::FieldOffset);
    give_up(&branching(b"x", WIDTH), "0", Ask::TypeMatches);
}

#[test]
fn members_are_not_looked_for_without_end() {
    assert_eq!(branching(b"y", WIDTH).field("t", "x"), None);
    assert!(branching(b"y", WIDTH).field("t", "y").is_some());
}
