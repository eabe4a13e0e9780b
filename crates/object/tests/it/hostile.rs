//! Objects that were cut off or altered: an object or a sentence, never a panic, never a hang.

use std::time::{Duration, Instant};

use keel_object::{Btf, LoadOptions, btf_section, load};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};

use crate::common::{compile, kernel};

fn scheduler() -> &'static [u8] {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    BYTES.get_or_init(|| compile(include_str!("fixtures/fifo.c")))
}

/// Loads; what is refused must be one sentence.
fn survives(bytes: &[u8]) {
    let started = Instant::now();
    if let Err(error) = load(bytes, kernel(), &LoadOptions::default()) {
        let sentence = error.to_string();
        assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(10), "it took {:?}", started.elapsed());
}

/// Where, which byte instead, and whether one bit of it is flipped rather.
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
    for end in (0..bytes.len()).step_by(7) {
        survives(&bytes[..end]);
    }
}

#[test]
fn every_header_byte_may_be_anything() {
    let mut bytes = scheduler().to_vec();
    let tables = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
    for at in (0..64).chain(tables..bytes.len()) {
        let before = bytes[at];
        for value in [0, 1, 0x7f, 0xff, before ^ 0x10] {
            bytes[at] = value;
            survives(&bytes);
        }
        bytes[at] = before;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

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
