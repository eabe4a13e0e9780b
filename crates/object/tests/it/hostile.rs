//! Truncated or altered objects give an object or an error sentence, never a panic or a hang.

use std::time::{Duration, Instant};

use keel_object::{Btf, LoadOptions, btf_section, load};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};

use crate::common::{compile, kernel, object};

fn scheduler() -> &'static [u8] {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    BYTES.get_or_init(|| compile(include_str!("fixtures/fifo.c")))
}

/// Loads it. A rejection must be one sentence.
fn survives(bytes: &[u8]) {
    let started = Instant::now();
    if let Err(error) = load(bytes, kernel(), &LoadOptions::default()) {
        let sentence = error.to_string();
        assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(10), "it took {:?}", started.elapsed());
}

/// The place, the new byte, and whether to flip one of its bits instead.
fn changes() -> impl Strategy<Value = Vec<(usize, u8, bool)>> {
    prop::collection::vec((0..scheduler().len(), any::<u8>(), any::<bool>()), 1..8)
}

fn altered(changes: &[(usize, u8, bool)]) -> Vec<u8> {
    let mut bytes = scheduler().to_vec();
    for &(at, value, flip) in changes {
        bytes[at] = if flip { bytes[at] ^ (1 << (value & 7)) } else { value };
    }
    bytes
}

#[test]
fn every_truncation_is_refused_or_loads() {
    let bytes = scheduler();
    for end in (0..bytes.len()).step_by(11) {
        survives(&bytes[..end]);
    }
}

#[test]
fn every_header_byte_may_be_anything() {
    let mut bytes = scheduler().to_vec();
    let tables = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
    for at in (0..64).chain(tables..bytes.len()) {
        let before = bytes[at];
        for value in [0, 0x7f, 0xff] {
            bytes[at] = value;
            survives(&bytes);
        }
        bytes[at] = before;
    }
}

/// Alters the instructions of an object's only function, by opcode.
fn refused_with(opcode: u8, alter: impl Fn(&mut [u8]), expected: &str) {
    let source = r#"
        __attribute__((noinline)) static long callee(u64 *x) { return *x * 3; }
        SEC("syscall") long f(u64 *c) {
            if (*c == 0x11223344) return 7;
            return callee(c) + (long)0x5566778811223344;
        }
    "#;
    let mut bytes = object(source);
    // f starts with r0 = 7, r2 = *r1.
    let start = bytes.windows(8).position(|w| w == [0x79, 0x12, 0, 0, 0, 0, 0, 0]).unwrap();
    let at = (start..bytes.len()).step_by(8).find(|&at| bytes[at] == opcode).unwrap();
    alter(&mut bytes[at..at + 16]);
    let error = load(&bytes, kernel(), &LoadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn broken_instructions_are_named() {
    let jump = |by: i16| move |insn: &mut [u8]| insn[2..4].copy_from_slice(&by.to_le_bytes());
    refused_with(0x15, jump(5), "instruction 2 of f is malformed: it jumps out of its function");
    refused_with(0x15, jump(-4), "instruction 2 of f is malformed: it jumps out of its function");
    refused_with(0x15, jump(2), "instruction 2 of f is malformed: it jumps into the middle of ld_imm64");
    refused_with(0x18, |insn| insn[8] = 7, "instruction 4 of f is malformed: ld_imm64 lacks its second half");
    let named = |insn: &mut [u8]| insn[1] |= 0x10;
    refused_with(
        0x18,
        named,
        "instruction 4 of f is malformed: ld_imm64 names something without a relocation",
    );
    let wrong_target = |insn: &mut [u8]| insn[4] = 1;
    let expected = "instruction 3 of f refers to .text, which cannot be resolved: no function starts there";
    refused_with(0x85, wrong_target, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn altered_objects_end_in_an_object_or_a_sentence(changes in changes()) {
        survives(&altered(&changes));
    }

    #[test]
    fn altered_types_end_in_types_or_a_sentence(at in 24usize..4000, value: u8) {
        let mut bytes = btf_section(scheduler()).unwrap();
        let at = at % bytes.len();
        bytes[at] = value;
        if let Ok(btf) = Btf::parse(&bytes) {
            for (id, _) in btf.types() {
                let _ = (btf.size_of(id), btf.field_of(id, "scx.slice"));
            }
        }
    }
}
